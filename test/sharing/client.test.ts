import anyTest from 'ava';
import { decodeBase64, encodeBase64 } from '../../client/bytes/base64.ts';
import { createKeyPair } from '../../client/crypto/hpke.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import type { Metadata } from '../../client/documents/metadata.ts';
import { openVersionOf } from '../../client/documents/open-document.ts';
import { downloadFile } from '../../client/downloads/download.ts';
import { blobSource } from '../../client/files/byte-source.ts';
import { IdentityError } from '../../client/identity/identity-error.ts';
import { createNodeHash } from '../../client/node/hash.ts';
import { collect } from '../support/client/collect.ts';
import { toolsOf } from '../support/client/stored.ts';
import { connect, createUser } from '../support/client/user.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { createTamperedLine } from './tampering.ts';

// The tests are serial: they share three users, whose logins take most of the time.
const test = anyTest.serial;

const vault = await startReadyVault();
const line = createTamperedLine();
const owner = await createUser(vault, connect(vault, line.fetch));
const recipient = await createUser(vault, connect(vault, line.fetch));
const { fingerprint } = await recipient.session.enableSharing();
const { email } = recipient.credentials;
anyTest.after.always(() => vault.stop());

let stored = 0;

function storeEvidence() {
  stored += 1;
  const source = blobSource(new Blob([`what was agreed, number ${stored}`]));
  const { session, masterKey } = owner;
  return session.storeDocument({ source, name: `${stored}.pdf`, mediaType: 'a/b', masterKey });
}

async function findReceived(shareId: string) {
  for await (const item of recipient.session.listShared({ pageSize: 2 })) {
    if (item.shareId === shareId) return item;
  }
  return undefined;
}

test('a shared document opens for its recipient with the owner’s key', async (t) => {
  const document = await storeEvidence();
  const share = await owner.session.shareDocument(document.id, email, { fingerprint });
  t.is(share.fingerprint, fingerprint);
  const opened = await recipient.session.openShared(share.id);
  t.like(opened, {
    documentId: document.id,
    fileHash: document.fileHash,
    metadata: { fileHash: document.fileHash, mediaType: 'a/b' },
  });
  t.like(await findReceived(share.id), { metadata: opened.metadata });
  const { http } = recipient.session;
  const bytes = await collect(downloadFile({ http, createHash: createNodeHash }, opened));
  t.is(new TextDecoder().decode(bytes), `what was agreed, number ${stored}`);
});

test('a share of one version opens this version and no other', async (t) => {
  const { id } = await storeEvidence();
  const { session, masterKey } = owner;
  const source = blobSource(new Blob(['second']));
  await addVersion(toolsOf(session), { id, masterKey, source, name: 'second' });
  const names: string[] = [];
  const confirm = (_shown: string, { name }: Metadata) => names.push(name) > 0;
  const refused = session.shareDocument(id, email, { fingerprint, version: 3 });
  await t.throwsAsync(refused, { code: 'version_not_found' });
  const share = await session.shareDocument(id, email, { confirm, version: 1 });
  t.is(share.version, 1);
  const opened = await recipient.session.openShared(share.id);
  t.is(opened.version, 1);
  t.deepEqual(names, [opened.metadata.name]);
  const tools = toolsOf(recipient.session);
  const bytes = await collect(downloadFile(tools, opened));
  t.is(new TextDecoder().decode(bytes), `what was agreed, number ${stored}`);
  t.is((await openVersionOf(tools, opened, 1)).fileHash, opened.fileHash);
  await t.throwsAsync(openVersionOf(tools, opened, 2), { code: 'version_not_found' });
});

test('an ended share opens nothing, and the document can be shared again', async (t) => {
  const { id } = await storeEvidence();
  const share = await owner.session.shareDocument(id, email, { fingerprint });
  await owner.session.unshare(id, share.id);
  t.is(await findReceived(share.id), undefined);
  await t.throwsAsync(recipient.session.openShared(share.id), { code: 'share_not_found' });
  await t.throwsAsync(recipient.session.documents.get(id), { code: 'not_found' });

  const expiresAt = new Date(Date.now() + 3_600_000);
  const brief = await owner.session.shareDocument(id, email, { fingerprint, expiresAt });
  t.is(brief.expiresAt, expiresAt.toISOString());
  const listed = [];
  for await (const item of owner.session.listShares(id)) listed.push(item.id);
  t.deepEqual(listed, [brief.id]);
});

test('a recipient removes a share, and blocks and unblocks a sender', async (t) => {
  const [first, second] = [await storeEvidence(), await storeEvidence()];
  const removed = await owner.session.shareDocument(first.id, email, { fingerprint });
  const kept = await owner.session.shareDocument(second.id, email, { fingerprint });
  await recipient.session.removeShared(removed.id);
  t.is(await findReceived(removed.id), undefined);

  const ownerId = (await findReceived(kept.id))?.ownerId ?? '';
  const { senderId } = await recipient.session.blockSender(ownerId);
  t.is(senderId, ownerId);
  t.is(await findReceived(kept.id), undefined);
  const listed = [];
  for await (const sender of recipient.session.listBlockedSenders()) listed.push(sender.senderId);
  t.deepEqual(listed, [senderId]);

  await recipient.session.unblockSender(senderId);
  t.is((await findReceived(kept.id))?.documentId, second.id);
  await t.throwsAsync(recipient.session.unblockSender(senderId), { code: 'not_found' });
});

test('a share whose response was lost is created once', async (t) => {
  const { id } = await storeEvidence();
  let lost = 0;
  const lose = (body: object) => {
    lost += 1;
    if (lost === 1) throw new TypeError('the connection broke');
    return body;
  };
  await line.tamper(`/v1/documents/${id}/share`, lose, async () => {
    const share = await owner.session.shareDocument(id, email, { fingerprint });
    t.is(lost, 2);
    t.is((await findReceived(share.id))?.documentId, id);
  });
});

test('a share with an unknown e-mail address succeeds, and nobody can open it', async (t) => {
  const { id } = await storeEvidence();
  const share = await owner.session.shareDocument(id, `no.${email}`, {
    confirm: () => true,
  });
  t.is(share.documentId, id);
  t.not(share.fingerprint, fingerprint);
  t.is(await findReceived(share.id), undefined);
});

test('nothing is shared under another key than the expected one', async (t) => {
  const { id } = await storeEvidence();
  const expected = '00'.repeat(16);
  const error = await t.throwsAsync(
    owner.session.shareDocument(id, email, { fingerprint: expected }),
    { instanceOf: IdentityError },
  );
  t.like(error, { code: 'recipient_key_changed', expected, shown: fingerprint });
  for await (const share of owner.session.listShares(id)) t.fail(share.id);
});

test('nothing is shared before the fingerprint is confirmed', async (t) => {
  const document = await storeEvidence();
  const shown: unknown[] = [];
  const refused = owner.session.shareDocument(document.id, email, {
    confirm: (fingerprint, { fileHash }) => {
      shown.push([fingerprint, fileHash]);
      return false;
    },
  });
  await t.throwsAsync(refused, { code: 'recipient_refused' });
  t.deepEqual(shown, [[fingerprint, document.fileHash]]);
  t.true((await owner.session.listShares(document.id).next()).done);
});

test('the first login makes the identity, and the vault never sees the private key', async (t) => {
  const before = line.sent.length;
  const { session } = await createUser(vault, connect(vault, line.fetch));
  const sent = line.sent.slice(before).filter((body) => body.includes('wrappedPrivateKey'));
  t.is(sent.length, 1);
  const stored = JSON.parse(sent[0] ?? '') as Record<string, string>;
  t.deepEqual(
    Object.entries(stored).map(([name, value]) => [name, decodeBase64(value).length]),
    [
      ['publicKey', 32],
      ['wrappedPrivateKey', 40],
      ['signingKey', 32],
      ['wrappedSigningKey', 40],
      ['proofOfPossession', 64],
    ],
  );
  t.true((await session.listShared().next()).done);
  const enabled = await Promise.all([1, 2, 3].map(() => session.enableSharing()));
  t.is(new Set(enabled.map(({ fingerprint }) => fingerprint)).size, 1);
});

test('a vault that shows others another public key is detected by its owner', async (t) => {
  const forged = encodeBase64((await createKeyPair()).publicKey);
  const forge = (body: object) => ({ ...body, publicKey: forged });
  await line.tamper('/v1/crypto/keys/sharing', forge, async () => {
    await t.throwsAsync(recipient.session.enableSharing(), { code: 'invalid_envelope' });
  });
  t.is((await recipient.session.enableSharing()).fingerprint, fingerprint);
});

test('a share that does not open is listed without metadata and spoils no other', async (t) => {
  const [first, second] = [await storeEvidence(), await storeEvidence()];
  const good = await owner.session.shareDocument(first.id, email, { fingerprint });
  const taken = await recipient.session.openShared(good.id);
  const wrong = [
    taken.wrappedKey,
    encodeBase64(new Uint8Array(80)),
    encodeBase64(Uint8Array.of(1)),
  ];
  for (const wrappedKey of wrong) {
    const { body } = await owner.session.http.send({
      method: 'POST',
      path: `/v1/documents/${second.id}/share`,
      json: { recipientEmail: email, wrappedKey, permissions: ['read'] },
    });
    const { id } = body as { id: string };
    t.like(await findReceived(id), { documentId: second.id, metadata: undefined });
    await t.throwsAsync(recipient.session.openShared(id), { code: 'invalid_share' });
    await owner.session.unshare(second.id, id);
  }
  t.like(await findReceived(good.id), { metadata: taken.metadata });
});

const forgeHash = (body: object) => ({ ...body, fileHash: 'ab'.repeat(32) });

test('a share whose metadata describes another file does not open', async (t) => {
  const { id } = await storeEvidence();
  const share = await owner.session.shareDocument(id, email, { fingerprint });
  const forgeHashes = (items: object) => Object.values(items).map(forgeHash);
  await line.tamper('/v1/documents/shared', forgeHashes, async () => {
    await t.throwsAsync(recipient.session.openShared(share.id), { code: 'metadata_mismatch' });
  });
});

test('a document whose metadata describes another file is not shared', async (t) => {
  const { id } = await storeEvidence();
  await line.tamper(`/v1/documents/${id}`, forgeHash, async () => {
    const sharing = owner.session.shareDocument(id, email, { fingerprint });
    await t.throwsAsync(sharing, { code: 'metadata_mismatch' });
  });
});
