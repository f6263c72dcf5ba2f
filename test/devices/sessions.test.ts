import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { pauseAt, untilWaiting } from '../support/accounts/paused-statement.ts';
import { beginLogin, createAccount } from '../support/accounts/test-account.ts';
import { issuersFile } from '../support/issuers/issuers-file.ts';
import { startKeyServer } from '../support/issuers/key-server.ts';
import { createSigningKey } from '../support/issuers/signing-key.ts';
import { testIssuer } from '../support/issuers/test-issuer.ts';
import { refresh, sessionIdOf, tryToken } from '../support/accounts/sessions.ts';
import { assertError } from '../support/http/error-body.ts';
import { getJson, postJson, type JsonAnswer } from '../support/http/send.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';
import {
  anyEnvelope,
  ask,
  createDevice,
  createOwner,
  guardCode,
  logInAgain,
  logInAt,
} from '../support/accounts/owner.ts';

// Tests with a vault of their own are serial and run before all others.

let vault: TestVault;

test.before(async () => {
  vault = await startReadyVault();
});
test.after.always(() => vault.stop());

const unknown = { status: 403, code: 'device_unknown' };
const blacklisted = { status: 403, code: 'device_blacklisted' };
const invalidToken = { status: 401, code: 'invalid_token' };

const tokenOf = ({ body }: JsonAnswer) => (body as { accessToken: string }).accessToken;

async function deviceOf(token: string): Promise<string | null | undefined> {
  const { body } = await getJson(`${vault.baseUrl}/v1/auth/sessions`, token);
  const sessions = body as { current: boolean; deviceId: string | null }[];
  return sessions.find(({ current }) => current)?.deviceId;
}

test('the first device that a login session registers is bound to it for good', async (t) => {
  const { token, account } = await createOwner(vault);
  t.is(await deviceOf(token), null);
  const deviceId = await createDevice(vault, token);
  t.is(await deviceOf(token), deviceId);
  const sibling = await createDevice(vault, token);
  t.is(await deviceOf(token), deviceId);

  t.is(await guardCode(vault, token, deviceId), undefined);
  t.is(await guardCode(vault, token, deviceId.toUpperCase()), undefined);
  t.is(await guardCode(vault, token, sibling), 'device_unknown');
  t.is(await guardCode(vault, token, randomUUID()), 'device_unknown');
  t.is(await guardCode(vault, token, undefined), 'device_required');
  t.is(await guardCode(vault, token, 'jam'), 'validation_failed');
  const unbound = await logInAgain(vault, account);
  t.is(await guardCode(vault, unbound.token, deviceId), 'device_unknown');
});

test('one of several devices registered concurrently is bound to the login session', async (t) => {
  const { token } = await createOwner(vault);
  const ids = await Promise.all(Array.from({ length: 10 }, () => createDevice(vault, token)));
  const bound = await deviceOf(token);
  t.true(ids.includes(String(bound)));
  const codes = await Promise.all(ids.map((id) => guardCode(vault, token, id)));
  t.deepEqual(
    codes,
    ids.map((id) => (id === bound ? undefined : 'device_unknown')),
  );
});

test('a login at a device binds its session, and the audit entry says so', async (t) => {
  const { token, account } = await createOwner(vault);
  const deviceId = await createDevice(vault, token);
  const answer = await logInAt(vault, account, deviceId);
  t.is(answer.status, 200, answer.text);
  const accessToken = tokenOf(answer);
  t.is(await deviceOf(accessToken), deviceId);
  t.is(await guardCode(vault, accessToken, deviceId), undefined);
  const [entry] = await createSql(vault)(
    `select canonical from audit_entries where resource_type = 'session' and resource_id = $1`,
    [sessionIdOf(accessToken)],
  );
  t.like(JSON.parse(String(entry?.['canonical'])), { data: { method: 'srp', deviceId } });
  const { refreshToken } = answer.body as { refreshToken: string };
  const refreshed = await refresh(vault, refreshToken);
  t.is(await guardCode(vault, tokenOf(refreshed), deviceId), undefined);
});

test('the device of a login is checked only after the proof, and must be active', async (t) => {
  const { token, account } = await createOwner(vault);
  const deviceId = await createDevice(vault, token);
  const stranger = await createOwner(vault);
  const foreign = await createDevice(vault, stranger.token);
  for (const other of [randomUUID(), foreign]) {
    assertError(t, await logInAt(vault, account, other), unknown);
  }
  const { sessionId, A } = await beginLogin(vault, account);
  const wrong = { sessionId, A, M1: 'ab'.repeat(32), deviceId: randomUUID() };
  const refused = await postJson(`${vault.baseUrl}/v1/auth/login/verify`, wrong);
  assertError(t, refused, { status: 401, code: 'invalid_proof' });

  const keeper = await logInAgain(vault, account);
  t.is((await ask(vault, keeper.token, 'DELETE', `/devices/${deviceId}`)).status, 204);
  assertError(t, await logInAt(vault, account, deviceId), blacklisted);
  const open = await createSql(vault)(
    'select 1 from login_sessions where user_id = $1 and revoked_at is null',
    [keeper.userId],
  );
  t.is(open.length, 1, 'a refused login opens no session');
});

test('revoking a device ends its login sessions, and no others', async (t) => {
  const { token, account } = await createOwner(vault);
  const deviceId = await createDevice(vault, token);
  const second = await logInAt(vault, account, deviceId);
  const elsewhere = await logInAgain(vault, account);
  t.is((await ask(vault, elsewhere.token, 'DELETE', `/devices/${deviceId}`)).status, 204);
  for (const ended of [token, tokenOf(second)]) {
    await until(async () => (await tryToken(vault, ended)).status === 401, {
      what: 'the session to end',
      timeoutMs: 60_000,
    });
  }
  const { refreshToken } = second.body as { refreshToken: string };
  const refused = { status: 401, code: 'invalid_refresh_token' };
  assertError(t, await refresh(vault, refreshToken), refused);
  t.is((await tryToken(vault, elsewhere.token)).status, 200);
});

test('a login session that revokes its own device ends at once', async (t) => {
  const { token } = await createOwner(vault);
  const deviceId = await createDevice(vault, token);
  t.is((await ask(vault, token, 'DELETE', `/devices/${deviceId}`)).status, 204);
  assertError(t, await tryToken(vault, token), invalidToken);
});

test.serial('a login in progress while its device is revoked opens no session', async (t) => {
  const own = await startReadyVault();
  t.teardown(() => own.stop());
  const { token, account, userId } = await createOwner(own);
  const deviceId = await createDevice(own, token);
  const elsewhere = await logInAgain(own, account);
  const pause = await pauseAt(own, 'update on devices');
  const revoking = ask(own, elsewhere.token, 'DELETE', `/devices/${deviceId}`);
  await untilWaiting(own, 1);
  const loggingIn = logInAt(own, account, deviceId);
  await untilWaiting(own, 2);
  await pause.end();
  t.is((await revoking).status, 204);
  assertError(t, await loggingIn, blacklisted);
  const sessions = await createSql(own)(
    'select 1 from login_sessions where user_id = $1 and revoked_at is null',
    [userId],
  );
  t.is(sessions.length, 1);
});

test.serial('a login session that has just ended registers no device', async (t) => {
  const own = await startReadyVault();
  t.teardown(() => own.stop());
  const { token, userId } = await createOwner(own);
  const pause = await pauseAt(own, 'insert on key_envelopes');
  const json = { deviceId: randomUUID(), encryptedEnvelope: anyEnvelope() };
  const creating = ask(own, token, 'POST', '/device-envelope', { json });
  await untilWaiting(own, 1);
  const sql = createSql(own);
  await sql('update login_sessions set revoked_at = now() where user_id = $1', [userId]);
  await pause.end();
  assertError(t, await creating, invalidToken);
  t.deepEqual(await sql('select 1 from devices where user_id = $1', [userId]), []);
});

/** Starts a vault that trusts one other issuer. */
async function startTrusting(t: ExecutionContext) {
  const server = await startKeyServer();
  t.teardown(() => server.close());
  const key = await createSigningKey();
  server.publish(key.jwk);
  const scopes = ['keys:manage', 'sync:read'];
  const grants = { roles: ['user'], scopes: [...scopes, 'recovery'], tenants: ['one'] };
  const entry = { ...testIssuer(server.url), grants };
  const trusting = await startReadyVault({ AUTH_ISSUERS_FILE: await issuersFile(t, [entry]) });
  t.teardown(() => trusting.stop());
  const sign = (claims: object = {}) =>
    key.sign({
      iss: entry.issuer,
      aud: entry.audience,
      exp: Math.floor(Date.now() / 1000) + 300,
      sub: 'someone',
      tenant_id: 'one',
      authz: { roles: ['user'], scopes },
      ...claims,
    });
  return { trusting, sign };
}

test.serial('sessions of other issuers are bound to a device by issuer and sid', async (t) => {
  const { trusting, sign } = await startTrusting(t);
  const session = await sign({ sid: 'a' });
  const deviceId = await createDevice(trusting, session);
  t.is(await guardCode(trusting, await sign({ sid: 'a' }), deviceId), undefined);
  for (const other of [{ sid: 'b' }, {}, { sid: 'a', sub: 'someone else' }]) {
    t.is(await guardCode(trusting, await sign(other), deviceId), 'device_unknown');
  }
  const sibling = await createDevice(trusting, session);
  t.is(
    await guardCode(trusting, session, sibling),
    'device_unknown',
    'the session stays bound to its first device',
  );

  const next = await sign({ sid: 'b', auth_time: Math.floor(Date.now() / 1000) });
  const opened = await ask(trusting, next, 'GET', `/device-envelope/${deviceId}`);
  t.is(opened.status, 200);
  t.is(
    await guardCode(trusting, next, deviceId),
    undefined,
    'opening its envelope binds the session',
  );
  await ask(trusting, next, 'GET', `/device-envelope/${sibling}`);
  t.is(await guardCode(trusting, next, sibling), 'device_unknown');

  t.is((await ask(trusting, next, 'DELETE', `/devices/${deviceId}`)).status, 204);
  t.is(await guardCode(trusting, session, deviceId), 'device_blacklisted');
  t.is(
    await guardCode(trusting, session, sibling),
    'device_unknown',
    'the session cannot be bound to another device',
  );
  const json = { deviceId: randomUUID(), encryptedEnvelope: anyEnvelope() };
  const refused = await ask(trusting, session, 'POST', '/device-envelope', { json });
  assertError(t, refused, blacklisted);
  const account = await createAccount(trusting);
  assertError(t, await logInAt(trusting, account, deviceId), unknown);
});

test.serial('users of other issuers cannot set credentials in the vault', async (t) => {
  const { trusting, sign } = await startTrusting(t);
  const denied = { status: 403, code: 'access_denied' };
  const json = {
    encryptedEnvelope: anyEnvelope(),
    recoverySalt: 'ab'.repeat(32),
    recoveryVerifier: '4',
  };
  const token = await sign({ sid: 'a' });
  const { encryptedEnvelope } = json;
  const wrapped = await ask(trusting, token, 'POST', '/recovery-envelope', {
    json: { encryptedEnvelope },
  });
  t.is(wrapped.status, 201);
  const [row] = await createSql(trusting)('select user_id from key_envelopes');
  const { reauthTokens } = trusting.services;
  const { reauthToken } = await reauthTokens.issue({ userId: String(row?.['user_id']) });
  const headers = { 'X-Reauth-Token': reauthToken };
  const proven = await ask(trusting, token, 'POST', '/recovery-envelope', { json, headers });
  assertError(t, proven, denied);
  const posing = await sign({ sid: 'a', authz: { scopes: ['recovery'] } });
  const change = { salt: json.recoverySalt, verifier: '4', masterEnvelope: encryptedEnvelope };
  const answer = await fetch(`${trusting.baseUrl}/v1/auth/credentials`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${posing}`, 'content-type': 'application/json' },
    body: JSON.stringify(change),
  });
  const { status, headers: answered } = answer;
  assertError(t, { status, headers: answered, text: await answer.text() }, denied);
});
