import anyTest, { type TestFn } from 'ava';
import { decodeBase64, encodeBase64 } from '../../client/bytes/base64.ts';
import { addVersion } from '../../client/documents/add-version.ts';
import { changeMetadata } from '../../client/documents/change-metadata.ts';
import { encryptMetadata } from '../../client/documents/metadata.ts';
import { searchDocuments } from '../../client/documents/search-documents.ts';
import { storeDocument } from '../../client/documents/store-document.ts';
import { openDocument, openVersionOf } from '../../client/documents/open-document.ts';
import { downloadDocument } from '../../client/downloads/download.ts';
import { UnlistedError } from '../../client/errors/unlisted-error.ts';
import { wrapIdentity } from '../../client/identity/identities.ts';
import { createIdentity, fingerprintOf } from '../../client/identity/identity.ts';
import { collect, gather } from '../support/client/collect.ts';
import { createTestMemory } from '../support/client/memory-store.ts';
import { sourceOf, storeBytes, toolsOf } from '../support/client/stored.ts';
import { assertCaught, createVictim, logInWith, rekey, type Victim } from './liar.ts';

const test = anyTest as TestFn<{ readonly victim: Victim }>;

const recordsPath = '/v1/memory/records';
const oneDocument = /^GET .*\/documents\/[^/]+$/;

test.beforeEach(async (t) => {
  t.context = { victim: await createVictim() };
});

test('a version that a recipient of the document makes, to its owner', async (t) => {
  const { victim } = t.context;
  const { masterKey, tools } = victim;
  const { document } = await storeBytes(victim, 10, { name: 'one' });
  const { id } = document;
  // A recipient has the document key, and the vault the wrapped key of the owner.
  const { documentKey, metadata, place } = await openDocument(tools, { id, masterKey });
  const forged = decodeBase64(
    await encryptMetadata(
      { masterKey: documentKey, documentKey },
      { ...place, change: 1 },
      { ...metadata, name: 'forged' },
    ),
  );
  forged.set(decodeBase64(document.encryptedMetadata).subarray(61, 101), 61);
  const encryptedMetadata = encodeBase64(forged);
  victim.lie(oneDocument, (body) => Object.assign(body, { encryptedMetadata }));
  await assertCaught(t, openDocument(tools, { id, masterKey }), 'invalid_metadata');
});

test('the next version after a rekey has a key that no earlier master key opens', async (t) => {
  const { victim } = t.context;
  const { tools } = victim;
  const earlierKey = victim.masterKey.slice();
  const { document, bytes } = await storeBytes(victim, 10, { name: 'one' });
  const { id } = document;
  const before = await openDocument(tools, { id, masterKey: earlierKey });
  const keys = await rekey(victim);
  await changeMetadata(tools, { id, ...keys, name: 'two' });
  const changed = await openDocument(tools, { id, ...keys });
  t.deepEqual(changed.documentKey, before.documentKey);
  t.is(changed.place.keyGeneration, 0);
  await addVersion(tools, { id, ...keys, source: sourceOf(new Uint8Array(20)) });
  const after = await openDocument(tools, { id, ...keys });
  t.notDeepEqual(after.documentKey, before.documentKey);
  t.is(after.place.keyGeneration, 2);
  await addVersion(tools, { id, ...keys, source: sourceOf(new Uint8Array(30)) });
  t.deepEqual((await openDocument(tools, { id, ...keys })).documentKey, after.documentKey);
  for (const [version, size] of [
    [1, bytes.length],
    [2, 20],
    [3, 30],
  ] as const) {
    t.is((await collect(downloadDocument(tools, { id, ...keys, version }))).length, size);
  }
});

test('metadata of an earlier master key that claims a present document key', async (t) => {
  const { victim } = t.context;
  const { tools } = victim;
  const earlierKey = victim.masterKey.slice();
  const { document } = await storeBytes(victim, 10);
  const { id } = document;
  const { documentKey, metadata, place } = await openDocument(tools, { id, masterKey: earlierKey });
  const keys = await rekey(victim);
  const encryptedMetadata = await encryptMetadata(
    { masterKey: earlierKey, documentKey },
    { ...place, change: 1, keyGeneration: 2 },
    metadata,
  );
  const session = await victim.client.login(victim.credentials);
  const fresh = toolsOf(session);
  victim.lie(oneDocument, (body) => Object.assign(body, { encryptedMetadata }));
  await assertCaught(t, openDocument(fresh, { id, ...keys }), 'document_unlisted');
  // Even if the user believes it, its key counts as one of before.
  await session.memory.forgetDocument(id);
  t.is((await openDocument(fresh, { id, ...keys })).place.keyGeneration, 0);
  victim.tellTruth();
  await session.memory.forgetDocument(id);
  await addVersion(fresh, { id, ...keys, source: sourceOf(new Uint8Array(20)) });
  t.notDeepEqual((await openDocument(fresh, { id, ...keys })).documentKey, documentKey);
});

test('a document that somebody with an earlier master key makes after the rekey', async (t) => {
  const { victim } = t.context;
  const outsider = await victim.client.login(victim.credentials);
  const masterKey = await outsider.envelopes.openMasterKey();
  await outsider.memory.look();
  const keys = await rekey(victim);
  // The outsider has the master key and no session; the vault stores the document all the same.
  const { tools } = victim;
  const memory = { ...tools.memory, generationOf: () => outsider.memory.generationOf(masterKey) };
  const options = { masterKey, name: 'forged', mediaType: 'a/b', keywords: ['red'] };
  const source = sourceOf(new Uint8Array(10));
  const { id } = await storeDocument({ ...tools, memory }, { ...options, source });
  const session = await victim.client.login(victim.credentials);
  const fresh = toolsOf(session);
  await assertCaught(t, openDocument(fresh, { id, ...keys }), 'document_unlisted');
  const search = gather(searchDocuments(fresh, { ...keys, all: ['red'] }));
  await assertCaught(t, search, 'document_unlisted');

  // The next rekey names it, and nobody believes it until the user does.
  const { password } = victim.credentials;
  const draft = await session.draftRekey({ password, keepPassword: true });
  const leftOut = await draft.confirm(draft.words);
  t.deepEqual(leftOut, [{ subject: 'document', id, code: 'document_unlisted' }]);
  const later = await session.envelopes.openMasterKeys();
  const error = await t.throwsAsync(openDocument(fresh, { id, ...later }));
  t.is(error instanceof UnlistedError && error.id, id);
  await session.memory.forgetDocument(id);
  t.is((await openDocument(fresh, { id, ...later })).metadata.name, 'forged');
  t.is((await openDocument(fresh, { id, ...later })).version, 1, 'it is remembered from now on');
});

const records = /^GET .*\/memory\/records$/;

test('the list of what was there at a rekey, withheld or cut short', async (t) => {
  const { victim } = t.context;
  const { document } = await storeBytes(victim, 10);
  const keys = await rekey(victim);
  victim.lie(records, () => []);
  const { client, credentials } = victim;
  const open = async () => {
    const session = await client.login(credentials);
    return openDocument(toolsOf(session), { id: document.id, ...keys });
  };
  await assertCaught(t, open(), 'rolled_back');
  // The user may do without the list, as for everything that a device remembers.
  const store = createTestMemory();
  const session = await logInWith(victim, store);
  await session.memory.forgetAll();
  const believed = openDocument(toolsOf(session), { id: document.id, ...keys });
  t.is((await believed).version, 1);
  const later = toolsOf(await logInWith(victim, store));
  t.is((await openDocument(later, { id: document.id, ...keys })).version, 1);
  victim.tellTruth();
  t.is((await open()).version, 1);
});

test('a list of an earlier rekey in the place of the last one', async (t) => {
  const { victim } = t.context;
  await storeBytes(victim, 10);
  await rekey(victim);
  const { body: first } = await victim.session.http.send({ method: 'GET', path: recordsPath });
  const between = await victim.session.envelopes.openMasterKey();
  const { document } = await storeBytes({ ...victim, masterKey: between }, 10);
  const keys = await rekey(victim);
  victim.lie(records, () => first);
  const session = await victim.client.login(victim.credentials);
  const opening = openDocument(toolsOf(session), { id: document.id, ...keys });
  await assertCaught(t, opening, 'rolled_back');
});

test('nothing is written under an earlier master key', async (t) => {
  const { victim } = t.context;
  const { tools } = victim;
  const masterKey = victim.masterKey.slice();
  const { document } = await storeBytes(victim, 10);
  const { id } = document;
  await rekey(victim);
  const source = sourceOf(new Uint8Array(20));
  const outdated = { ...victim, masterKey };
  await assertCaught(t, storeBytes(outdated, 10), 'master_key_outdated');
  await assertCaught(t, addVersion(tools, { id, masterKey, source }), 'master_key_outdated');
  const change = changeMetadata(tools, { id, masterKey, name: 'two' });
  await assertCaught(t, change, 'master_key_outdated');
});

test('an identity that whoever has an earlier master key made, after a rekey', async (t) => {
  const { victim } = t.context;
  const { session } = victim;
  const earlierKey = victim.masterKey.slice();
  const forged = await createIdentity();
  const wrapped = await wrapIdentity(earlierKey, forged);
  const friend = await createVictim();
  const { document } = await storeBytes(victim, 10);
  await rekey(victim);
  victim.lie(/^GET .*\/keys\/sharing$/, (body) => Object.assign(body, wrapped));
  const expected = await friend.session.enableSharing();
  const sharing = session.shareDocument(document.id, friend.credentials.email, expected);
  await assertCaught(t, sharing, 'identity_outdated');
  // The client would store a new identity in its place, which the vault behind the liar refuses, as
  // it has no such one; it never takes the forged one for its own.
  const proof = await session.reauthenticate(victim.credentials.password);
  await t.throwsAsync(session.enableSharing(proof), { code: 'identity_unproven' });
  victim.tellTruth();
  t.not((await session.enableSharing(proof)).fingerprint, fingerprintOf(forged));
});

test('shares of a document with a new key are made anew for confirmed people', async (t) => {
  const { victim } = t.context;
  const { tools, session } = victim;
  const [friend, other] = [await createVictim(), await createVictim()];
  const { document } = await storeBytes(victim, 10);
  const { id } = document;
  const expiresAt = new Date(Date.now() + 86_400_000);
  const share = async ({ session: theirs, credentials: { email } }: Victim, version?: number) => {
    const { fingerprint } = await theirs.enableSharing();
    return session.shareDocument(id, email, {
      fingerprint,
      expiresAt,
      ...(version !== undefined && { version }),
    });
  };
  const [toFriend, toOther] = [await share(friend), await share(other)];
  const { fingerprint } = await session.enableSharing();
  await friend.session.openShared(toFriend.id, { sharer: fingerprint });
  const keys = await rekey(victim);
  // The other person has other keys now.
  await rekey(other);
  const source = sourceOf(new Uint8Array(20));
  const { shares } = await addVersion(tools, { id, ...keys, source });
  t.deepEqual(
    shares?.unconfirmed.map((each) => each.id),
    [toOther.id],
  );
  const [renewed] = shares?.renewed ?? [];
  t.is(renewed?.recipientId, toFriend.recipientId);
  const opened = await friend.session.openShared(renewed?.id ?? '', {
    sharer: (await session.enableSharing()).fingerprint,
  });
  t.is(opened.version, 2);
  t.is(opened.expiresAt, expiresAt.toISOString());
  t.is((await openVersionOf(tools, opened, 1)).version, 1);
  const refused = { code: 'share_not_found' };
  await t.throwsAsync(friend.session.openShared(toFriend.id), refused);
  await t.throwsAsync(other.session.openShared(toOther.id), { code: 'invalid_share' });
  // A second version needs no other key, and a share of one version stays as it is.
  const next = await addVersion(tools, { id, ...keys, source: sourceOf(new Uint8Array(30)) });
  t.is(next.shares, undefined);
});

test('shares that could not be made anew are told, and can be later', async (t) => {
  const { victim } = t.context;
  const { tools, session } = victim;
  const friend = await createVictim();
  const { document } = await storeBytes(victim, 10);
  const { id } = document;
  await session.shareDocument(id, friend.credentials.email, await friend.session.enableSharing());
  const keys = await rekey(victim);
  victim.lie(/^POST .*\/share-key$/, () => 'no answer');
  const source = sourceOf(new Uint8Array(20));
  await assertCaught(t, addVersion(tools, { id, ...keys, source }), 'shares_outdated');
  victim.tellTruth();
  t.is((await openDocument(tools, { id, ...keys })).version, 2);
  t.is((await session.renewShares(id)).renewed.length, 1);
});
