import { randomBytes, randomUUID } from 'node:crypto';
import anyTest, { type ExecutionContext, type TestFn } from 'ava';
import { addVersion } from '../../client/documents/add-version.ts';
import { changeMetadata } from '../../client/documents/change-metadata.ts';
import { encryptMetadata } from '../../client/documents/metadata.ts';
import { openDocument } from '../../client/documents/open-document.ts';
import { searchDocuments } from '../../client/documents/search-documents.ts';
import { encodeBase64 } from '../../client/bytes/base64.ts';
import type { Document } from '../../client/documents/documents.ts';
import { IdentityError } from '../../client/identity/identity-error.ts';
import { createIdentity, fingerprintOf } from '../../client/identity/identity.ts';
import { RolledBackError } from '../../client/memory/values/rolled-back-error.ts';
import { SealError } from '../../client/proofs/seal.ts';
import type { VaultSession } from '../../client/session.ts';
import { gather } from '../support/client/collect.ts';
import { createTestMemory } from '../support/client/memory-store.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { assertCaught, createVictim, logInWith, receiveShare, rekey, type Victim } from './liar.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;

const oneDocument = /^GET .*\/documents\/[^/]+$/;

test.before(async (t) => {
  t.context = { victim: await createVictim() };
});
test.afterEach.always((t) => t.context.victim.tellTruth());

async function open(session: VaultSession, id: string) {
  const keys = await session.envelopes.openMasterKeys();
  return openDocument(toolsOf(session), { id, ...keys });
}

/** Stores a document, adds a version, and lets a device remember it. */
async function storeRemembered(victim: Victim) {
  const { masterKey, tools } = victim;
  const { document: first } = await storeBytes(victim, 10, { name: 'one', keywords: ['red'] });
  const { id } = first;
  await addVersion(tools, { id, masterKey, source: sourceOf(new Uint8Array(20)) });
  const device = createTestMemory();
  const { document: second } = await open(await logInWith(victim, device), id);
  return { id, first, second, device };
}

async function assertRolledBack(t: ExecutionContext, work: Promise<unknown>) {
  return t.throwsAsync(work, { instanceOf: RolledBackError, code: 'rolled_back' });
}

test.serial('an earlier version, to a device that has seen a later one', async (t) => {
  const { victim } = t.context;
  const { id, first, device } = await storeRemembered(victim);
  victim.lie(oneDocument, () => first);
  const error = await assertRolledBack(t, open(await logInWith(victim, device), id));
  t.is(error?.id, id);
  t.regex(error?.remembered, /^version 2, change 0/);
  t.regex(error?.shown, /^version 1, change 0/);
});

test.serial('an earlier version, to a device that remembers nothing, is believed', async (t) => {
  const { victim } = t.context;
  const { id, first } = await storeRemembered(victim);
  victim.lie(oneDocument, () => first);
  t.is((await open(await logInWith(victim, createTestMemory()), id)).version, 1);
});

test.serial('an earlier version, to the client that made the later one', async (t) => {
  const { victim } = t.context;
  const { id, first } = await storeRemembered(victim);
  victim.lie(oneDocument, () => first);
  await assertRolledBack(t, open(victim.session, id));
});

test.serial('metadata from before a change', async (t) => {
  const { victim } = t.context;
  const { masterKey } = victim;
  const { id, second, device } = await storeRemembered(victim);
  const session = await logInWith(victim, device);
  await changeMetadata(toolsOf(session), { id, masterKey, name: 'two' });
  victim.lie(oneDocument, () => second);
  await assertRolledBack(t, open(await logInWith(victim, device), id));
});

test.serial('another version 2 in place of the one that was seen', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const { document } = await storeBytes(victim, 10);
  const { id } = document;
  const session = await logInWith(victim, createTestMemory());
  const other = await open(session, id);
  await addVersion(tools, { id, masterKey, source: sourceOf(new Uint8Array(20)) });
  const { document: seen } = await open(session, id);
  const encryptedMetadata = await encryptMetadata(
    { masterKey, documentKey: other.documentKey },
    { documentId: id, version: 2, change: 0, previous: null, keyGeneration: 1 },
    { ...other.metadata, fileHash: document.fileHash },
  );
  victim.lie(oneDocument, () => ({ ...seen, encryptedMetadata, fileHash: document.fileHash }));
  await assertRolledBack(t, open(session, id));
});

test.serial('a search hit from before a version', async (t) => {
  const { victim } = t.context;
  const { first, device } = await storeRemembered(victim);
  const session = await logInWith(victim, device);
  const keys = await session.envelopes.openMasterKeys();
  victim.lie(/^GET .*\/search$/, () => [first]);
  victim.lie(/^POST .*\/search$/, () => [first]);
  await assertRolledBack(t, gather(searchDocuments(toolsOf(session), { ...keys, any: ['red'] })));
});

test.serial('an earlier version, at a rekey', async (t) => {
  const { victim } = t.context;
  const { id, first } = await storeRemembered(victim);
  const before = await victim.session.envelopes.openMasterKeys();
  victim.lie(/^GET .*\/documents$/, (items) =>
    items.map((item) => (item['id'] === id ? first : item)),
  );
  await assertRolledBack(t, rekey(victim));
  t.deepEqual(await victim.session.envelopes.openMasterKeys(), before, 'nothing changed');
});

test.serial('a document that the user removed', async (t) => {
  const { victim } = t.context;
  const { document } = await storeBytes(victim, 10);
  const device = createTestMemory();
  const session = await logInWith(victim, device);
  const opened = await open(session, document.id);
  await session.documents.delete(document.id);
  victim.lie(oneDocument, () => opened.document);
  await assertRolledBack(t, open(await logInWith(victim, device), document.id));
});

test.serial('the document is believed again once the user says so', async (t) => {
  const { victim } = t.context;
  const { id, first, device } = await storeRemembered(victim);
  victim.lie(oneDocument, () => first);
  const session = await logInWith(victim, device);
  await assertRolledBack(t, open(session, id));
  await session.memory.forgetDocument(id);
  t.is((await open(session, id)).version, 1);
  t.is((await open(await logInWith(victim, device), id)).version, 1);
});

test.serial('an answer that a change overtook is no lie, if it was true when asked', async (t) => {
  const { victim } = t.context;
  const { masterKey, session, tools } = victim;
  const { id, first, second } = await storeRemembered(victim);
  for (const [shown, isTrue] of [
    [second, true],
    [first, false],
  ] as const) {
    // The vault answers only after the application has added another version.
    const asked = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const getRevised = async () => {
      asked.resolve();
      await held.promise;
      return { document: shown, etag: '"1"' };
    };
    const documents = { ...session.documents, getRevised };
    const opening = openDocument({ ...tools, documents }, { id, masterKey });
    await asked.promise;
    await addVersion(tools, { id, masterKey, source: sourceOf(randomBytes(30)) });
    held.resolve();
    if (isTrue) t.is((await opening).version, 2);
    else await assertRolledBack(t, opening);
  }
  t.is((await openDocument(tools, { id, masterKey })).version, 4);
});

test.serial('audit keys other than the first ones that a device has seen', async (t) => {
  const { victim } = t.context;
  const { id, device } = await storeRemembered(victim);
  const session = await logInWith(victim, device);
  t.is((await session.certifyDocument(id)).keyTrust, 'first_seen');
  t.true(((await session.memory.vaultKeys()) ?? []).length > 0);
  // Another device that saw other keys first: the vault lies to one of the two.
  const other = createTestMemory();
  const elsewhere = await logInWith(victim, other);
  await elsewhere.memory.sawVaultKeys(['b'.repeat(64)]);
  const certifying = (await logInWith(victim, other)).certifyDocument(id);
  const error = await t.throwsAsync(certifying, { instanceOf: SealError });
  t.is(error?.reason, 'key_untrusted');
});

test.serial('another account or vault in the place of the user’s own', async (t) => {
  const { victim } = t.context;
  const { document } = await storeBytes(victim, 10);
  const device = createTestMemory();
  await (await logInWith(victim, device)).certifyDocument(document.id);
  const { document: other } = await storeBytes(victim, 10);
  for (const names of [{ userId: randomUUID() }, { issuer: 'https://other.example' }]) {
    victim.lie(/^GET .*\/auth\/account$/, (body) => Object.assign(body, names));
    const session = await logInWith(victim, device);
    await assertCaught(t, session.certifyDocument(other.id), 'account_mismatch');
    victim.tellTruth();
  }
});

test.serial('a recipient’s keys, exchanged after they were confirmed', async (t) => {
  const { victim } = t.context;
  const friend = await createVictim();
  const { email } = friend.credentials;
  const { fingerprint } = await friend.session.enableSharing();
  const [{ document: one }, { document: two }] = [
    await storeBytes(victim, 10),
    await storeBytes(victim, 10),
  ];
  const device = createTestMemory();
  const confirm = () => true;
  await (await logInWith(victim, device)).shareDocument(one.id, email, { confirm });
  const forged = await createIdentity();
  victim.lie(/^POST .*\/share-key$/, (body) =>
    Object.assign(body, {
      publicKey: encodeBase64(forged.publicKey),
      signingKey: encodeBase64(forged.signingKey),
    }),
  );
  const session = await logInWith(victim, device);
  const error = await t.throwsAsync(session.shareDocument(two.id, email, { confirm }), {
    instanceOf: IdentityError,
    code: 'recipient_key_changed',
  });
  const shown = fingerprintOf(forged);
  t.like(error, { expected: fingerprint, shown });
  // The user confirms the new keys by their fingerprint; from then on they are the expected ones.
  // The vault behind the liar knows that it showed other keys than those of the statement.
  const confirmed = session.shareDocument(two.id, email, { fingerprint: shown });
  await t.throwsAsync(confirmed, { code: 'statement_invalid' });
  victim.tellTruth();
  const again = session.shareDocument(two.id, email, { confirm });
  t.like(await t.throwsAsync(again, { instanceOf: IdentityError }), {
    expected: shown,
    shown: fingerprint,
  });
});

test.serial('a share in the name of a person whose keys were confirmed', async (t) => {
  const { victim } = t.context;
  const friend = await createVictim();
  const { fingerprint } = await friend.session.enableSharing();
  const { share } = await receiveShare(victim, friend, 'one');
  const device = createTestMemory();
  const session = await logInWith(victim, device);
  await session.openShared(share.id, { sharer: fingerprint });
  const later = await logInWith(victim, device);
  t.is((await later.openShared(share.id)).sharerFingerprint, fingerprint);
  victim.lie(/^GET .*\/shared$/, (body) => body.map((each) => ({ ...each, signature: null })));
  await assertCaught(t, later.openShared(share.id), 'sharer_key_changed');
});

test.serial('a received document in an earlier version than was seen', async (t) => {
  const { victim } = t.context;
  const friend = await createVictim();
  const { document, share } = await receiveShare(victim, friend, 'one');
  const { id } = document;
  const { masterKey, tools } = friend;
  await addVersion(tools, { id, masterKey, source: sourceOf(new Uint8Array(20)) });
  const device = createTestMemory();
  t.is((await (await logInWith(victim, device)).openShared(share.id)).version, 2);
  victim.lie(/^GET .*\/shared$/, (body) => body.map((each) => ({ ...each, ...pick(document) })));
  await assertRolledBack(t, (await logInWith(victim, device)).openShared(share.id));
});

test.serial('another shared document under the id of a share', async (t) => {
  const { victim } = t.context;
  const friend = await createVictim();
  const { share: one } = await receiveShare(victim, friend, 'one');
  const { share: other } = await receiveShare(victim, friend, 'other');
  const device = createTestMemory();
  await gather((await logInWith(victim, device)).listShared());
  victim.lie(/^GET .*\/shared$/, (body) =>
    body.map((each) => (each['shareId'] === other.id ? { ...each, shareId: one.id } : each)),
  );
  const session = await logInWith(victim, device);
  await assertRolledBack(t, session.openShared(one.id));
  const listed = await gather(session.listShared());
  const names = new Set(listed.map(({ metadata }) => metadata?.name));
  t.true(names.has('one') && !names.has('other'));
});

function pick({ encryptedMetadata, fileHash }: Document) {
  return { encryptedMetadata, fileHash };
}
