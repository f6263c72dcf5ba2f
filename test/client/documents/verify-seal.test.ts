import test from 'ava';
import { encodeBase64, decodeBase64 } from '../../../client/bytes/base64.ts';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { verifySeal, type StoredVersion } from '../../../client/documents/verify-seal.ts';
import { downloadEncrypted } from '../../../client/downloads/download.ts';
import { createNodeHash } from '../../../client/node/hash.ts';
import { collect } from '../../support/client/collect.ts';
import { storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';

/** Returns a copy of bytes in which one is another. */
function changeByte(bytes: Bytes, at: number): Bytes {
  return bytes.with(at, (bytes[at] ?? 0) ^ 1);
}

test('the seal of an encrypted file and its metadata is verified without the vault', async (t) => {
  const vault = sharedVault();
  const client = connect(vault);
  const user = await createUser(vault, client);
  const tools = toolsOf(user.session);
  const [first, other] = [await storeBytes(user, 3_000), await storeBytes(user, 10)];
  const { id } = first.document;
  const { proof } = await user.session.certifyDocument(id);
  const opened = await openDocument(tools, { id, masterKey: user.masterKey });
  const { encryptedMetadata } = opened;
  const file = await collect(downloadEncrypted(tools, opened));
  const trustedKeys = (await client.auditKeys()).map(({ keyId }) => keyId);

  const whole = { documentId: id, version: 1 };
  const verify = (changed: Partial<StoredVersion>, keys = trustedKeys) =>
    verifySeal(
      { file: [file], encryptedMetadata, proof, ...changed },
      { trustedKeys: keys, createHash: createNodeHash },
    );
  t.deepEqual(await verify({}), { ...whole, valid: true });
  const pieces = [file.subarray(0, 7), file.subarray(7, 7), file.subarray(7)];
  t.true((await verify({ file: pieces })).valid);
  const inBrowser = { file: pieces, encryptedMetadata, proof };
  t.true((await verifySeal(inBrowser, { trustedKeys })).valid);

  const metadata = decodeBase64(encryptedMetadata);
  const last = encodeBase64(changeByte(metadata, metadata.length - 1));
  const changes: [Partial<StoredVersion>, string][] = [
    [{ file: [] }, 'other_file'],
    [{ file: [changeByte(file, 40)] }, 'other_file'],
    [{ file: [file, new Uint8Array(1)] }, 'other_file'],
    [{ encryptedMetadata: last }, 'other_metadata'],
    [{ encryptedMetadata: other.document.encryptedMetadata }, 'other_document'],
    [{ proof: { ...proof, entryCanonical: '{}' } }, 'not_an_entry'],
    [{ proof: (await user.session.certifyDocument(other.document.id)).proof }, 'other_document'],
  ];
  for (const [changed, reason] of changes) {
    t.like(await verify(changed), { valid: false, reason }, reason);
  }
  t.like(await verify({}, ['0'.repeat(32)]), { valid: false, reason: 'key_untrusted' });
  for (const broken of ['', 'AAAA', '***']) {
    await t.throwsAsync(verify({ encryptedMetadata: broken }), { code: 'invalid_metadata' });
  }
});
