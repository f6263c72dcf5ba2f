import { randomBytes } from 'node:crypto';
import test from 'ava';
import { addVersion } from '../../../client/documents/add-version.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { downloadFile } from '../../../client/downloads/download.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import { collect, gather } from '../../support/client/collect.ts';
import { sourceOf, storeBytes, toolsOf } from '../../support/client/stored.ts';
import { createUser } from '../../support/client/user.ts';

const vault = sharedVault();
const owner = await createUser(vault);
const recipient = await createUser(vault);
const recipientKey = await recipient.session.enableSharing();
const { masterKey } = owner;
const tools = toolsOf(owner.session);

async function shareNew() {
  const { document } = await storeBytes(owner, 10);
  const { email } = recipient.credentials;
  const share = await owner.session.shareDocument(document.id, email, recipientKey);
  return { id: document.id, shareId: share.id };
}

test.serial('a recipient opens the version that was added after the share', async (t) => {
  const { id, shareId } = await shareNew();
  const bytes = new Uint8Array(randomBytes(20));
  const { fileHash } = await addVersion(tools, { id, masterKey, source: sourceOf(bytes) });

  const shared = await recipient.session.openShared(shareId);
  t.like(shared.metadata, { size: 20, fileHash });
  t.deepEqual(await collect(downloadFile(toolsOf(recipient.session), shared)), bytes);
});

test.serial('a version without metadata is refused as such, by its owner too', async (t) => {
  const { id, shareId } = await shareNew();
  const versionOf = await openDocument(tools, { id, masterKey });
  const source = sourceOf(randomBytes(20));
  const { storagePath } = await owner.session.uploadFile({ source, masterKey, versionOf });
  const path = `/v1/documents/${id}/versions`;
  await owner.session.http.send({ method: 'POST', path, json: { storagePath } });

  const mismatch = { name: 'ClientError', code: 'metadata_mismatch' };
  await t.throwsAsync(recipient.session.openShared(shareId), mismatch);
  await t.throwsAsync(openDocument(tools, { id, masterKey }), mismatch);
  const listed = await gather(recipient.session.listShared());
  t.like(
    listed.find((share) => share.shareId === shareId),
    { documentId: id, metadata: undefined },
  );
});
