import { randomBytes, randomUUID } from 'node:crypto';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import {
  anyEnvelope,
  ask,
  createDevice,
  createOwner,
  logInAgain,
  reauthHeader,
  type Owner,
} from '../../support/accounts/owner.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send, type JsonAnswer } from '../../support/http/send.ts';
import { createSql, type Sql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import {
  createRecoverable,
  recover,
  recoveryToken,
} from '../../support/accounts/recovery-account.ts';
import { refresh, tryToken } from '../../support/accounts/sessions.ts';
import { newMasterKey, newPassword } from './bodies.ts';
import { logInWith, stateOf } from './credentials-state.ts';

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

const invalidToken = { status: 401, code: 'invalid_token' };
const rekeyIncomplete = { status: 400, code: 'rekey_incomplete' };

function put(
  { baseUrl }: TestVault,
  token: string,
  json: object,
  headers: Record<string, string> = {},
): Promise<JsonAnswer> {
  return send('PUT', `${baseUrl}/v1/auth/credentials`, { token, json, headers });
}

async function change(owner: Owner, json: object): Promise<JsonAnswer> {
  return put(vault, owner.token, json, await reauthHeader(vault, owner));
}

async function entriesOf(userId: string, action: string) {
  const rows = await sql(
    'select canonical from audit_entries where user_id = $1 and action = $2 order by id',
    [userId, action],
  );
  return rows.map(
    ({ canonical }) => (JSON.parse(String(canonical)) as { data: Record<string, unknown> }).data,
  );
}

test('a new password replaces only the master envelope and ends the other sessions', async (t) => {
  const owner = await createRecoverable(vault);
  const { account, userId, token, words, refreshToken } = owner;
  const deviceId = await createDevice(vault, token);
  const elsewhere = await logInAgain(vault, account);
  const before = await stateOf(vault, userId);
  const { next, json } = newPassword(account);
  const changed = await change(owner, json);
  t.is(changed.status, 204, changed.text);
  t.is(changed.text, '');

  const after = await stateOf(vault, userId);
  t.like(after.envelopes['MASTER'], {
    encrypted_envelope: json.masterEnvelope,
    version: 2,
    keyring: null,
  });
  t.deepEqual(after.envelopes['RECOVERY'], before.envelopes['RECOVERY']);
  t.deepEqual(after.envelopes[deviceId], before.envelopes[deviceId]);
  t.is(await logInWith(vault, account), 401);
  t.is(await logInWith(vault, next), 200);
  t.is((await recover(vault, account.email, words)).status, 200);
  t.is((await tryToken(vault, token)).status, 200);
  t.is((await refresh(vault, refreshToken)).status, 200);
  await until(async () => (await tryToken(vault, elsewhere.token)).status === 401, {
    what: 'the other session to end',
    timeoutMs: 60_000,
  });
  const refused = { status: 401, code: 'invalid_refresh_token' };
  assertError(t, await refresh(vault, elsewhere.refreshToken), refused);
  const [, recorded] = await entriesOf(userId, 'credentials.changed');
  t.like(recorded, { method: 'password', isRekey: false, isRecovery: false, sessions: 1 });
  t.is((await entriesOf(userId, 'envelope.replaced')).length, 1);
});

test('a new master key replaces every envelope and stores the earlier keys', async (t) => {
  const owner = await createRecoverable(vault);
  const { account, userId, token, words } = owner;
  const devices = [await createDevice(vault, token), await createDevice(vault, token)];
  const revoked = await createDevice(vault, token);
  t.is((await ask(vault, token, 'DELETE', `/devices/${revoked}`)).status, 204);
  const { next, words: newWords, json } = newMasterKey(account, devices);
  const changed = await change(owner, json);
  t.is(changed.status, 204, changed.text);

  const { envelopes } = await stateOf(vault, userId);
  t.is(Object.keys(envelopes).length, 4);
  const { masterEnvelope, keyring, recovery } = json;
  t.like(envelopes['MASTER'], { encrypted_envelope: masterEnvelope, version: 2, keyring });
  t.like(envelopes['RECOVERY'], { encrypted_envelope: recovery.encryptedEnvelope, version: 2 });
  for (const { deviceId, encryptedEnvelope } of json.devices) {
    t.like(envelopes[deviceId], { encrypted_envelope: encryptedEnvelope, version: 2 });
  }
  t.is(await logInWith(vault, next), 200);
  t.is((await recover(vault, account.email, words)).status, 401);
  t.is((await recover(vault, account.email, newWords)).status, 200);
  for (const path of ['/master-envelope', '/recovery-envelope']) {
    t.like((await ask(vault, token, 'GET', path)).body, { version: 2, keyring }, path);
  }
  const replaced = await entriesOf(userId, 'envelope.replaced');
  t.deepEqual(replaced.map(({ kind }) => String(kind)).sort(), [
    'DEVICE',
    'DEVICE',
    'MASTER',
    'RECOVERY',
  ]);
  const recorded = (await entriesOf(userId, 'credentials.changed')).slice(1);
  t.like(recorded, [
    { method: 'password', isRekey: true },
    { method: 'recovery', isRekey: true },
  ]);

  const later = newPassword(next);
  t.is((await change({ ...owner, account: next }, later.json)).status, 204);
  const last = await stateOf(vault, userId);
  t.like(last.envelopes['MASTER'], { version: 3, keyring }, 'a new password keeps the keyring');
});

test('a user without envelopes gets them with a new master key', async (t) => {
  const owner = await createOwner(vault);
  const { words, json } = newMasterKey(owner.account, []);
  t.is((await change(owner, json)).status, 204);
  const { envelopes } = await stateOf(vault, owner.userId);
  t.like(envelopes['MASTER'], { version: 1, keyring: json.keyring });
  t.like(envelopes['RECOVERY'], { version: 1 });
  t.is((await recover(vault, owner.account.email, words)).status, 200);
});

test('an incomplete new master key is refused and changes nothing', async (t) => {
  const owner = await createRecoverable(vault);
  const { account, userId, token } = owner;
  const devices = [await createDevice(vault, token), await createDevice(vault, token)];
  const stranger = await createOwner(vault);
  const foreign = await createDevice(vault, stranger.token);
  const before = await stateOf(vault, userId);
  const { json } = newMasterKey(account, devices);
  const { recovery, devices: wrapped, keyring, ...password } = json;
  const another = (deviceId: string) => ({ deviceId, encryptedEnvelope: anyEnvelope() });
  for (const incomplete of [
    { ...password, recovery },
    { ...password, devices: wrapped },
    { ...password, keyring },
    { ...password, recovery, keyring },
    { ...password, recovery, devices: wrapped },
    { ...json, devices: [] },
    { ...json, devices: wrapped.slice(1) },
    { ...json, devices: [...wrapped, another(randomUUID())] },
    { ...json, devices: [...wrapped.slice(1), another(foreign)] },
  ]) {
    assertError(t, await change(owner, incomplete), rekeyIncomplete);
  }
  const short = randomBytes(39).toString('base64');
  for (const wrong of [
    { ...json, masterEnvelope: short },
    { ...json, recovery: { ...recovery, encryptedEnvelope: short } },
    { ...json, devices: [...wrapped.slice(1), { ...wrapped[0], encryptedEnvelope: short }] },
  ]) {
    assertError(t, await change(owner, wrong), { status: 400, code: 'invalid_key_length' });
  }
  for (const bad of [
    {},
    { ...json, devices: [...wrapped, ...wrapped] },
    { ...json, keyring: '' },
    { ...json, keyring: randomBytes(65_537).toString('base64') },
    { ...json, salt: 'ab' },
    { ...json, verifier: '1' },
    { ...json, masterEnvelope: { encryptedEnvelope: anyEnvelope() } },
    { ...json, recovery: { encryptedEnvelope: anyEnvelope() } },
    { ...json, name: 'jam' },
  ]) {
    assertError(t, await change(owner, bad), { status: 400, code: 'validation_failed' });
  }
  const named = await change(owner, { ...json, password: 'jam' });
  assertError(t, named, { status: 400, code: 'password_forbidden' });
  t.deepEqual(await stateOf(vault, userId), before);
  t.is(await logInWith(vault, account), 200);
});

test('new credentials need a fresh proof of the caller’s own password', async (t) => {
  const owner = await createRecoverable(vault);
  const other = await createOwner(vault);
  const { json } = newPassword(owner.account);
  const required = { status: 401, code: 'reauth_required' };
  assertError(t, await put(vault, owner.token, json), required);
  const foreign = await put(vault, owner.token, json, await reauthHeader(vault, other));
  assertError(t, foreign, { status: 401, code: 'reauth_invalid' });
  const none = await send('PUT', `${vault.baseUrl}/v1/auth/credentials`, { json });
  assertError(t, none, invalidToken);
  t.is(await logInWith(vault, owner.account), 200);
});

test('a password set after a recovery login ends every session of the user', async (t) => {
  const owner = await createRecoverable(vault);
  const { account, userId, words } = owner;
  const token = await recoveryToken(vault, owner);
  const { next, json } = newPassword(account);
  t.is((await put(vault, token, json)).status, 204);
  assertError(t, await put(vault, token, json), invalidToken);
  await until(async () => (await tryToken(vault, owner.token)).status === 401, {
    what: 'the earlier session to end',
    timeoutMs: 60_000,
  });
  t.is(await logInWith(vault, account), 401);
  t.is(await logInWith(vault, next), 200);
  t.is((await recover(vault, account.email, words)).status, 200);
  const [, recorded] = await entriesOf(userId, 'credentials.changed');
  t.like(recorded, { method: 'password', isRecovery: true, sessions: 1 });
});

test('an incomplete new master key is refused after a recovery login too', async (t) => {
  const owner = await createRecoverable(vault);
  const deviceId = await createDevice(vault, owner.token);
  const token = await recoveryToken(vault, owner);
  const half = newMasterKey(owner.account, []);
  assertError(t, await put(vault, token, half.json), rekeyIncomplete);
  const { next, words, json } = newMasterKey(owner.account, [deviceId]);
  t.is((await put(vault, token, json)).status, 204);
  t.is(await logInWith(vault, next), 200);
  t.is((await recover(vault, owner.account.email, words)).status, 200);
});

test('a login in progress while the password changes opens no session', async (t) => {
  const owner = await createRecoverable(vault);
  const words = await recoveryToken(vault, owner);
  const { json } = newPassword(owner.account);
  const under = await logInWith(vault, owner.account, async () => {
    t.is((await put(vault, words, json)).status, 204);
  });
  t.is(under, 401);
});

test('neither the log nor an error shows any value that was sent', async (t) => {
  const owner = await createRecoverable(vault);
  const { json } = newMasterKey(owner.account, []);
  const answers = [
    await put(vault, owner.token, json),
    await change(owner, { ...json, [json.verifier]: 1 }),
    await change(owner, json),
  ];
  const visible = [vault.logLines.join(''), ...answers.map(({ text }) => text)].join('\n');
  const { salt, verifier, masterEnvelope, keyring, recovery } = json;
  for (const secret of [verifier, masterEnvelope, keyring, ...Object.values(recovery)]) {
    t.false(visible.includes(secret));
  }
  t.false(visible.includes(salt));
});
