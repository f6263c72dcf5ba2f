import { randomBytes } from 'node:crypto';
import test from 'ava';
import { decodeJwt } from 'jose';
import { listRoutes } from '../../../app/wiring/routes.ts';
import { until } from '../../../app/dev/processes/until.ts';
import { beginLogin, createAccount, inventAccount } from '../../support/accounts/test-account.ts';
import {
  anyEnvelope,
  ask,
  createMaster,
  createOwner,
  reauthHeader,
} from '../../support/accounts/owner.ts';
import { assertError } from '../../support/http/error-body.ts';
import { postJson, send, type JsonAnswer } from '../../support/http/send.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import { makeLoginsOld, reauth } from '../../support/accounts/reauth-account.ts';
import {
  beginRecovery,
  createRecoverable,
  recover,
  recoveryFields,
  recoveryToken,
} from '../../support/accounts/recovery-account.ts';
import { entriesOf, sessionIdOf } from '../../support/accounts/sessions.ts';

let vault: TestVault;

test.before(async () => {
  vault = await startReadyVault();
});
test.after.always(() => vault.stop());

const denied = { status: 403, code: 'access_denied' };
const invalidProof = { status: 401, code: 'invalid_proof' };

test('a recovery login gets a token of ten minutes and no refresh token', async (t) => {
  const { words, account, userId } = await createRecoverable(vault);
  for (const steps of ['/v1/auth/login/verify', '/v1/auth/login', '/api/v1/auth/login']) {
    const answer = await recover(vault, account.email, words, steps);
    t.is(answer.status, 200, answer.text);
    t.deepEqual(Object.keys(answer.body as object).sort(), [
      'M2',
      'accessToken',
      'expiresIn',
      'tokenType',
    ]);
    const { accessToken, expiresIn } = answer.body as { accessToken: string; expiresIn: number };
    t.is(expiresIn, 600);
    const { iat = 0, exp = 0, sub, authz } = decodeJwt(accessToken);
    t.is(exp - iat, 600);
    t.is(sub, userId);
    t.deepEqual(authz, { roles: [], scopes: ['recovery'] });
    const sessionId = sessionIdOf(accessToken);
    t.like(await entriesOf(vault, sessionId), [
      { action: 'auth.login', data: { method: 'recovery' } },
    ]);
    const sessions = await createSql(vault)(
      'select refresh_generation as number, refresh_hash as hash from login_sessions where id = $1',
      [sessionId],
    );
    t.deepEqual(sessions, [{ number: 0, hash: null }]);
  }
});

test('a recovery login reads the recovery envelope and reaches nothing else', async (t) => {
  const owner = await createRecoverable(vault);
  const { encryptedEnvelope } = owner;
  const token = await recoveryToken(vault, owner);
  const found = await ask(vault, token, 'GET', '/recovery-envelope');
  t.is(found.status, 200);
  t.like(found.body, { encryptedEnvelope, version: 1, keyring: null });

  const others = listRoutes()
    .filter(({ access }) => typeof access === 'object')
    .map(({ method, path }) => `${method} ${path}`)
    .filter((name) => name !== 'get /v1/crypto/keys/recovery-envelope')
    .filter((name) => name !== 'put /v1/auth/credentials');
  t.true(others.length > 40);
  for (const name of others) {
    const [method = '', path = ''] = name.split(' ');
    const url = vault.baseUrl + path.replaceAll(/:\w+/g, randomUuid);
    assertError(t, await send(method.toUpperCase(), url, { token }), denied, name);
  }
});

function randomUuid(): string {
  return '00000000-0000-4000-8000-000000000000';
}

test('unknown accounts and accounts without recovery words get the same response', async (t) => {
  const { email } = await createAccount(vault);
  for (const someEmail of [email, inventAccount().email]) {
    const { challenge } = await beginRecovery(vault, someEmail, inventAccount());
    assertError(t, challenge, { status: 404, code: 'user_not_found' });
  }
});

test('a password does not pass as recovery words, nor recovery words as a password', async (t) => {
  const { words, account } = await createRecoverable(vault);
  assertError(t, await recover(vault, account.email, account), invalidProof);
  const posing = { ...words, email: account.email };
  const { sessionId, A, M1 } = await beginLogin(vault, posing);
  const verify = `${vault.baseUrl}/v1/auth/login/verify`;
  assertError(t, await postJson(verify, { sessionId, A, M1 }), invalidProof);
  assertError(t, await challengeWith(account.email, 'jam'), {
    status: 400,
    code: 'validation_failed',
  });
});

function challengeWith(email: string, method: string): Promise<JsonAnswer> {
  return postJson(`${vault.baseUrl}/v1/auth/login/challenge`, { email, A: '5', method });
}

test('recovery words do not reauthenticate', async (t) => {
  const { words, account, token } = await createRecoverable(vault);
  const { sessionId, A, M1 } = await beginRecovery(vault, account.email, words);
  assertError(t, await reauth(vault, token, { sessionId, A, M1 }), {
    status: 401,
    code: 'invalid_credentials',
  });
});

test('wrong recovery words count towards the same limit as wrong passwords', async (t) => {
  const limited = await startReadyVault({ LIMITS_PROOF_ACCOUNT: '3/15m' });
  t.teardown(() => limited.stop());
  const { account } = await createRecoverable(limited);
  // No client address is known to the account, so its lock applies to this one.
  await createSql(limited)('delete from known_addresses');
  const verify = `${limited.baseUrl}/v1/auth/login/verify`;
  for (const attempt of [1, 2, 3]) {
    const answer = await recover(limited, account.email, inventAccount());
    assertError(t, answer, invalidProof, String(attempt));
  }
  const { sessionId, A, M1 } = await beginLogin(limited, account);
  assertError(t, await postJson(verify, { sessionId, A, M1 }), {
    status: 429,
    code: 'rate_limited',
  });
});

test('a login of just now may set the first recovery words without reauthentication', async (t) => {
  const owner = await createOwner(vault);
  const words = inventAccount();
  const json = { encryptedEnvelope: anyEnvelope(), ...recoveryFields(words) };
  const first = await ask(vault, owner.token, 'POST', '/recovery-envelope', { json });
  t.is(first.status, 201, first.text);
  t.is((await recover(vault, owner.account.email, words)).status, 200);
  const wrong = { json, headers: { 'X-Reauth-Token': 'jam' } };
  const answer = await ask(vault, owner.token, 'POST', '/recovery-envelope', wrong);
  assertError(t, answer, { status: 401, code: 'reauth_invalid' });
});

test('recovery words need salt, verifier and a fresh proof of the password', async (t) => {
  const owner = await createOwner(vault);
  const { token } = owner;
  await createMaster(vault, token);
  const encryptedEnvelope = anyEnvelope();
  const { recoverySalt, recoveryVerifier } = recoveryFields(inventAccount());
  const refused = { status: 400, code: 'validation_failed' };
  for (const bad of [
    { recoverySalt },
    { recoveryVerifier },
    { recoverySalt: 'ab', recoveryVerifier },
    { recoverySalt, recoveryVerifier: '1' },
    { recoverySalt, recoveryVerifier: 'jam' },
  ]) {
    const json = { encryptedEnvelope, ...bad };
    const answer = await ask(vault, token, 'POST', '/recovery-envelope', { json });
    assertError(t, answer, refused, JSON.stringify(bad));
  }
  const { email } = owner.account;
  const stolen = inventAccount();
  await makeLoginsOld(vault, owner.userId);
  const byToken = await ask(vault, token, 'POST', '/recovery-envelope', {
    json: { encryptedEnvelope, ...recoveryFields(stolen) },
  });
  assertError(t, byToken, { status: 401, code: 'reauth_required' });
  const { challenge } = await beginRecovery(vault, email, stolen);
  assertError(t, challenge, { status: 404, code: 'user_not_found' });
  const proven = await reauthHeader(vault, owner);
  const first = await ask(vault, token, 'POST', '/recovery-envelope', {
    json: { encryptedEnvelope, recoverySalt, recoveryVerifier },
    headers: proven,
  });
  t.is(first.status, 201);
  const again = await ask(vault, token, 'POST', '/recovery-envelope', {
    json: { encryptedEnvelope, ...recoveryFields(inventAccount()) },
    headers: proven,
  });
  assertError(t, again, { status: 409, code: 'envelope_exists' });

  const words = inventAccount();
  const headers = { 'If-Match': '"1"' };
  const others = { json: { encryptedEnvelope, ...recoveryFields(words) }, headers };
  const unproven = await ask(vault, token, 'PUT', '/recovery-envelope', others);
  assertError(t, unproven, { status: 401, code: 'reauth_required' });
  assertError(t, await recover(vault, email, words), invalidProof);
  const replaced = await ask(vault, token, 'PUT', '/recovery-envelope', {
    ...others,
    headers: { ...headers, ...proven },
  });
  t.is(replaced.status, 200, replaced.text);
  t.is((await recover(vault, email, words)).status, 200);
});

test('new recovery words end the sessions of logins by the old ones', async (t) => {
  const owner = await createRecoverable(vault);
  const before = await recoveryToken(vault, owner);
  const words = inventAccount();
  const replaced = await ask(vault, owner.token, 'PUT', '/recovery-envelope', {
    json: { encryptedEnvelope: anyEnvelope(), ...recoveryFields(words) },
    headers: { 'If-Match': '"1"', ...(await reauthHeader(vault, owner)) },
  });
  t.is(replaced.status, 200, replaced.text);
  const { saltHex: salt, verifierHex: verifier } = inventAccount();
  const change = await send('PUT', `${vault.baseUrl}/v1/auth/credentials`, {
    token: before,
    json: { salt, verifier, masterEnvelope: anyEnvelope() },
  });
  assertError(t, change, { status: 401, code: 'invalid_token' });
  const ended = async () => (await ask(vault, before, 'GET', '/recovery-envelope')).status === 401;
  await until(ended, { what: 'the recovery session to end', timeoutMs: 60_000 });
  t.is((await ask(vault, owner.token, 'GET', '/master-envelope')).status, 200);
  const after = await recoveryToken(vault, { ...owner, words });
  t.is((await ask(vault, after, 'GET', '/recovery-envelope')).status, 200);
});

test('with decoys an account without recovery words looks like any other', async (t) => {
  const hiding = await startReadyVault({ AUTH_UNKNOWN_USER: 'decoy' });
  t.teardown(() => hiding.stop());
  const owner = await createOwner(hiding);
  const { account, token } = owner;
  const saltOf = async (email: string) => {
    const { challenge } = await beginRecovery(hiding, email, inventAccount());
    return (challenge.body as { salt: string }).salt;
  };
  const unknown = inventAccount().email;
  for (const email of [account.email, unknown]) {
    const salt = await saltOf(email);
    t.regex(salt, /^[0-9a-f]{64}$/);
    t.is(await saltOf(email), salt);
    const { challenge } = await beginLogin(hiding, inventAccount(email));
    t.not((challenge.body as { salt: string }).salt, salt);
    assertError(t, await recover(hiding, email, inventAccount()), invalidProof);
  }
  const fields = recoveryFields(inventAccount());
  const json = { encryptedEnvelope: anyEnvelope(), ...fields, recoverySalt: 'ab'.repeat(16) };
  const headers = await reauthHeader(hiding, owner);
  const short = await ask(hiding, token, 'POST', '/recovery-envelope', { json, headers });
  const body = assertError(t, short, { status: 400, code: 'validation_failed' });
  t.deepEqual(body.details, [{ path: 'recoverySalt', message: 'must be 32 bytes' }]);
});

test('with decoys attempts by either method share one limit, account or not', async (t) => {
  const hiding = await startReadyVault({
    AUTH_UNKNOWN_USER: 'decoy',
    LIMITS_PROOF_ACCOUNT: '3/15m',
  });
  t.teardown(() => hiding.stop());
  const { account } = await createRecoverable(hiding);
  const without = await createAccount(hiding);
  await createSql(hiding)('delete from known_addresses');
  for (const email of [account.email, without.email, inventAccount().email]) {
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const { sessionId, A } = await beginLogin(hiding, inventAccount(email));
      const M1 = randomBytes(32).toString('hex');
      const verify = `${hiding.baseUrl}/v1/auth/login/verify`;
      assertError(t, await postJson(verify, { sessionId, A, M1 }), invalidProof);
    }
    const limited = { status: 429, code: 'rate_limited' };
    assertError(t, await recover(hiding, email, inventAccount()), limited);
  }
});
