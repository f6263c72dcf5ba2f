import { randomBytes } from '@noble/hashes/utils.js';
import anyTest, { type ExecutionContext } from 'ava';
import { encodeBase64 } from '../../../client/bytes/base64.ts';
import { encryptDeviceInfo } from '../../../client/devices/device-info.ts';
import { changeMetadata } from '../../../client/documents/change-metadata.ts';
import { openDocument } from '../../../client/documents/open-document.ts';
import { searchDocuments } from '../../../client/documents/search-documents.ts';
import { downloadDocument, downloadFile } from '../../../client/downloads/download.ts';
import { defaultRetry } from '../../../client/http/retry.ts';
import { createDeviceKey, deriveDeviceKeyPair } from '../../../client/keys/device-key.ts';
import { listMasterKeys, type MasterKeys } from '../../../client/keys/master-keys.ts';
import type { RekeyOptions } from '../../../client/rekey/rekey.ts';
import type { VaultSession } from '../../../client/session.ts';
import { startReadyVault } from '../../support/vault/vault.ts';
import { createBreakingLine } from '../../support/client/breaking-fetch.ts';
import { collect, gather } from '../../support/client/collect.ts';
import { spellingsOfKey, spellingsOfWords } from '../../support/client/secret-encodings.ts';
import { storeBytes, toolsOf } from '../../support/client/stored.ts';
import { connect, createUser } from '../../support/client/user.ts';

// The tests are serial: they share users, since deriving keys from passwords takes most of the
// time.
const test = anyTest.serial;

const vault = await startReadyVault();
const line = createBreakingLine();
/** A policy without repetition. */
const impatient = { ...defaultRetry, attempts: 1 };
const client = connect(vault, line.fetch, { retry: impatient });
const patient = connect(vault, line.fetch, { retry: { ...defaultRetry, baseDelaySeconds: 0.01 } });
/** Texts that no request may contain. */
const secrets: string[] = [];

async function rekey(session: VaultSession, options: RekeyOptions): Promise<string> {
  const draft = await session.draftRekey(options);
  secrets.push(draft.words, ...spellingsOfWords(draft.words));
  secrets.push('newPassword' in options ? options.newPassword : options.password);
  await draft.confirm(draft.words);
  return draft.words;
}

async function openKeys(session: VaultSession): Promise<MasterKeys> {
  const keys = await session.envelopes.openMasterKeys();
  secrets.push(...listMasterKeys(keys).flatMap(spellingsOfKey));
  return keys;
}

const owner = await createUser(vault, client);
const { session, credentials } = owner;
const { email } = credentials;
const sharer = await createUser(vault, client);
/** The current password of the owner. */
let { password } = credentials;
const sealed = await storeBytes(owner, 100, { keywords: ['contract', 'ada'] });
const received = await storeBytes(sharer, 100);
const laptop = createDeviceKey();
secrets.push(...spellingsOfKey(laptop.deviceKey), 'My laptop');

const { fingerprint } = await session.enableSharing();
const keyOfSharer = await sharer.session.enableSharing();
const toOwner = await sharer.session.shareDocument(received.document.id, email, { fingerprint });
const bySharer = sharer.credentials.email;
const toSharer = await session.shareDocument(sealed.document.id, bySharer, keyOfSharer);
await session.certifyDocument(sealed.document.id);
await session.devices.add({ ...laptop, name: 'My laptop', platform: 'Firefox' });
anyTest.after.always(() => vault.stop());
anyTest.beforeEach(() => line.mend());

/** Opens everything that the owner had before the first rekey. */
async function assertAllOpens(t: ExecutionContext, session: VaultSession): Promise<void> {
  const keys = await openKeys(session);
  t.deepEqual(await session.envelopes.openMasterKeysWithDevice(laptop), keys);
  const { id } = sealed.document;
  const bytes = await collect(downloadDocument(toolsOf(session), { id, ...keys }));
  t.deepEqual(bytes, new Uint8Array(sealed.bytes));
  const opened = await session.openShared(toOwner.id);
  const read = await collect(downloadFile(toolsOf(session), opened));
  t.deepEqual(read, new Uint8Array(received.bytes));
}

test('after a rekey earlier data opens by this device, another one, and a recipient', async (t) => {
  const next = `new ${password}`;
  const words = await rekey(session, { password, newPassword: next });
  await assertAllOpens(t, session);
  const keys = await openKeys(session);
  t.notDeepEqual(keys.masterKey, owner.masterKey);
  t.deepEqual(keys.earlierKeys, [owner.masterKey]);
  t.true(await session.recovery.check(words));
  await t.throwsAsync(client.login({ email, password }), { code: 'invalid_proof' });
  password = next;
  await assertAllOpens(t, await client.login({ email, password, deviceId: laptop.deviceId }));
  await session.devices.add({ ...laptop, name: 'My laptop', platform: 'Firefox' });
  const opened = await sharer.session.openShared(toSharer.id);
  const read = await collect(downloadFile(toolsOf(sharer.session), opened));
  t.deepEqual(read, new Uint8Array(sealed.bytes));
});

const steps = [
  'POST /v1/auth/login/challenge',
  'POST /v1/auth/reauth',
  'GET /v1/crypto/keys/master-envelope',
  'GET /v1/crypto/keys/devices',
  'GET /v1/crypto/keys/master-envelope',
  'GET /v1/crypto/keys/master-envelope',
  'GET /v1/crypto/keys/sharing',
  'GET /v1/documents',
  'GET /v1/sync',
  'POST /v1/memory/records',
  'PUT /v1/auth/credentials',
];
for (const [index, request] of steps.entries()) {
  test(`a rekey broken at request ${index + 1}, ${request}, still opens everything`, async (t) => {
    const newPassword = `${password}+`;
    const draft = await session.draftRekey({ password, newPassword });
    line.breakAt(index + 1, 'answer');
    await t.throwsAsync(draft.confirm(draft.words), { code: 'network_error' });
    t.deepEqual(line.sent, steps.slice(0, index + 1));
    if (line.sent.includes('PUT /v1/auth/credentials')) password = newPassword;
    line.mend();
    await assertAllOpens(t, session);
  });
}

test('after broken rekeys the password opens all, and the identity is a new one', async (t) => {
  t.is(password, `new ${credentials.password}+`);
  const fresh = await client.login({ email, password });
  await assertAllOpens(t, fresh);
  const { fingerprint: present } = await fresh.enableSharing();
  t.not(present, fingerprint);
  const { body } = await fresh.http.send({ method: 'GET', path: '/v1/crypto/keys/sharing' });
  t.like(body, { version: 3 }, 'two rekeys took effect');
  const { document } = await storeBytes(sharer, 10);
  const toEarlier = sharer.session.shareDocument(document.id, email, { fingerprint });
  await t.throwsAsync(toEarlier, { code: 'recipient_key_changed' });
  const share = await sharer.session.shareDocument(document.id, email, { fingerprint: present });
  const opened = await fresh.openShared(share.id, { sharer: keyOfSharer.fingerprint });
  t.is(opened.documentId, document.id);
});

test('a search finds documents of before and after a rekey, and they can be changed', async (t) => {
  const stored = [sealed.document.id];
  let keys = await openKeys(session);
  for (const keywords of [['contract'], ['contract', 'ada'], ['contract']]) {
    const account = { credentials, session, masterKey: keys.masterKey };
    stored.unshift((await storeBytes(account, 10, { keywords })).document.id);
    if (stored.length !== 3) continue;
    await rekey(session, { password, keepPassword: true });
    keys = await openKeys(session);
  }
  const search = async (query: object) => {
    const found = searchDocuments(session, { ...keys, ...query, pageSize: 2 });
    return (await gather(found)).map(({ id }) => id);
  };
  const [newest = '', second = '', third = ''] = stored;
  t.deepEqual(await search({ all: ['contract'] }), stored);
  t.deepEqual(await search({ all: ['contract', 'ada'] }), [second, sealed.document.id]);
  t.deepEqual(await search({ any: ['ada', 'bob'] }), [second, sealed.document.id]);

  const tools = toolsOf(session);
  await changeMetadata(tools, { id: third, ...keys, name: 'renamed', keywords: ['new'] });
  const { masterKey } = keys;
  t.is((await openDocument(tools, { id: third, masterKey })).metadata.name, 'renamed');
  t.deepEqual(await search({ all: ['new'] }), [third]);
  await t.throwsAsync(openDocument(tools, { id: second, masterKey }), { code: 'invalid_metadata' });
  t.is((await openDocument(tools, { id: newest, masterKey })).metadata.size, 10);
});

test('a session goes on whether or not a lost password change was applied', async (t) => {
  const { masterKey } = await openKeys(session);
  for (const [loss, holds] of [
    ['request', false],
    ['answer', true],
  ] as const) {
    line.breakAt(4, loss);
    const changing = session.changePassword({ password, newPassword: 'second password' });
    await t.throwsAsync(changing, { code: 'network_error' });
    t.is(line.sent.at(-1), 'PUT /v1/auth/credentials');
    line.mend();
    t.deepEqual(await session.envelopes.openMasterKey(), masterKey);
    const proving = session.reauthenticate('second password');
    if (holds) await t.notThrowsAsync(proving);
    else await t.throwsAsync(proving, { code: 'invalid_proof' });
  }
  password = 'second password';
});

test('a new password and a rekey succeed although first responses are lost', async (t) => {
  const session = await patient.login({ email, password });
  const { masterKey } = await openKeys(session);
  line.loseFirstAnswers(/^(GET|PUT) /);
  await session.changePassword({ password, newPassword: 'third password' });
  line.loseFirstAnswers(/^(GET|PUT) /);
  const words = await rekey(session, { password: 'third password', newPassword: 'fourth' });
  password = 'fourth';
  line.mend();
  const keys = await openKeys(session);
  t.deepEqual(keys.earlierKeys?.[0], masterKey, 'once');
  const again = await client.login({ email, password });
  t.deepEqual(await again.envelopes.openMasterKeys(), keys);
  t.true(await again.recovery.check(words));
});

test('a rekey lists the devices that it keeps and those that it revokes', async (t) => {
  const session = await client.login({ email, password, deviceId: laptop.deviceId });
  const [lost, late] = [createDeviceKey(), createDeviceKey()];
  await session.devices.add({ ...lost, name: 'lost', platform: 'test' });
  const plain = { deviceId: crypto.randomUUID(), encryptedEnvelope: anyEnvelope() };
  await session.http.send({ method: 'POST', path: '/v1/crypto/keys/device-envelope', json: plain });
  const revoke = [lost.deviceId.toUpperCase()];
  const draft = await session.draftRekey({ password, keepPassword: true, revoke });
  const idsOf = (devices: readonly { deviceId: string }[]) => devices.map((one) => one.deviceId);
  t.deepEqual(idsOf(draft.kept), [laptop.deviceId]);
  t.deepEqual(idsOf(draft.revoked), [lost.deviceId, plain.deviceId].sort());

  line.mend();
  const wrong = draft.words.replace(/^\w+/, 'jam');
  await t.throwsAsync(draft.confirm(wrong), { code: 'recovery_words_differ' });
  t.deepEqual(line.sent, []);
  await t.throwsAsync(session.draftRekey({ password, newPassword: password }), {
    instanceOf: TypeError,
  });
  const own = session.draftRekey({ password, keepPassword: true, revoke: [laptop.deviceId] });
  await t.throwsAsync(own, { code: 'device_unreachable' });
  await session.devices.add({ ...late, name: 'late', platform: 'test' });
  await t.throwsAsync(draft.confirm(draft.words), { code: 'devices_changed' });
  t.is((await gather(session.devices.list())).length, 4, 'nothing was revoked');

  await rekey(session, { password, keepPassword: true, revoke: [...revoke, late.deviceId] });
  t.deepEqual(idsOf(await gather(session.devices.list())), [laptop.deviceId]);
  await assertAllOpens(t, session);
  for (const gone of [lost, late]) {
    const opening = session.envelopes.openMasterKeysWithDevice(gone);
    await t.throwsAsync(opening, { code: 'device_blacklisted' });
  }
});

test('an attacker with an earlier master key cannot get a device into a rekey', async (t) => {
  const session = await client.login({ email, password });
  const thief = createDeviceKey();
  const { deviceId } = thief;
  const { publicKey } = await deriveDeviceKeyPair(thief.deviceKey);
  const info = { name: 'Phone', platform: 'test', publicKey };
  const encryptedInfo = await encryptDeviceInfo({ masterKey: owner.masterKey, deviceId }, info);
  const elsewhere = await client.login({ email, password });
  const json = { deviceId, encryptedEnvelope: anyEnvelope(), encryptedInfo };
  await elsewhere.http.send({ method: 'POST', path: '/v1/crypto/keys/device-envelope', json });
  const draft = await session.draftRekey({ password, keepPassword: true });
  t.like(draft.kept, [{ deviceId: laptop.deviceId }]);
  t.like(draft.revoked, [{ deviceId, label: { name: 'Phone' }, publicKey: undefined }]);
});

function anyEnvelope(): string {
  return encodeBase64(randomBytes(40));
}

test('no password, recovery word or key of these tests left the client', (t) => {
  const sent = line.everythingSent();
  t.true(sent.includes(laptop.deviceId) && sent.includes('recoveryVerifier'));
  t.true(secrets.length > 100);
  for (const secret of new Set(secrets)) t.false(sent.includes(secret), secret);
});
