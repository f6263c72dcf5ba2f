import { randomUUID } from 'node:crypto';
import test from 'ava';
import {
  beginLogin,
  createAccount,
  type TestAccount,
} from '../../support/accounts/test-account.ts';
import { assertError } from '../../support/http/error-body.ts';
import { postJson } from '../../support/http/send.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { refresh, tryToken } from '../../support/accounts/sessions.ts';

let vault: Vault;
let account: TestAccount;

test.before(async () => {
  vault = sharedVault();
  account = await createAccount(vault);
});

const step = (body: unknown) => postJson(`${vault.baseUrl}/api/v1/auth/login`, body);
const verify = (body: unknown) => postJson(`${vault.baseUrl}/v1/auth/login/verify`, body);
const invalid = { status: 400, code: 'validation_failed' };
const deviceUnknown = { status: 403, code: 'device_unknown' };

test('one route serves both steps of a login', async (t) => {
  const first = await step({ email: account.email, A: '2222' });
  t.is(first.status, 200);
  t.is(first.headers.get('cache-control'), 'no-store');
  t.deepEqual(Object.keys(first.body as object).sort(), ['B', 'expiresAt', 'salt', 'sessionId']);

  const { sessionId, A, M1, proof } = await beginLogin(vault, account);
  const second = await step({ sessionId, A, M1 });
  t.is(second.status, 200);
  t.is(second.headers.get('cache-control'), 'no-store');
  const { accessToken, refreshToken, M2, ...rest } = second.body as Record<string, string>;
  t.deepEqual(rest, { tokenType: 'Bearer', expiresIn: 900 } as object);
  t.notThrows(() => proof.verifyServer(M2 ?? ''));
  t.is((await tryToken(vault, accessToken ?? '')).status, 200);
  t.is((await refresh(vault, refreshToken ?? '')).status, 200);
});

test('the combined route exists under both prefixes', async (t) => {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  const body = { sessionId, A, M1 };
  t.is((await postJson(`${vault.baseUrl}/v1/auth/login`, body)).status, 200);
  assertError(t, await step(body), { status: 401, code: 'srp_session_expired' });
});

test('the combined route refuses what the routes of the steps refuse', async (t) => {
  const { A, M1 } = await beginLogin(vault, account);
  const unknown = { email: 'nobody@example.org', A };
  assertError(t, await step(unknown), { status: 404, code: 'user_not_found' });
  const publicValue = { status: 400, code: 'invalid_public_value' };
  assertError(t, await step({ email: account.email, A: '0' }), publicValue);
  const expired = { status: 401, code: 'srp_session_expired' };
  assertError(t, await step({ sessionId: randomUUID(), A, M1 }), expired);
});

test('a body that is neither step is refused with the form of both', async (t) => {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  const { email } = account;
  for (const body of [
    {},
    [],
    { A },
    { A, M1 },
    { email },
    { sessionId, A },
    { sessionId, M1 },
    { email, A, M1 },
    { email, sessionId, A, M1 },
    { sessionId: null, A, M1 },
    { sessionId, A, M1: M1.slice(1) },
    { email: 'jam', A },
    { sessionId, A, M1, deviceId: 'jam' },
  ]) {
    const { details = [] } = assertError(t, await step(body), invalid, JSON.stringify(body));
    t.true(details.length > 0);
  }
  const { details } = assertError(t, await step({ A }), invalid);
  t.deepEqual(details, [{ path: '', message: 'must be {email, A} or {sessionId, A, M1}' }]);
  t.is((await step({ sessionId, A, M1 })).status, 200, 'the refusals used up no session');
});

test('a login with an unknown device is refused, but only after the proof', async (t) => {
  const deviceId = randomUUID();
  for (const send of [step, verify]) {
    const { sessionId, A, M1 } = await beginLogin(vault, account);
    assertError(t, await send({ sessionId, A, M1, deviceId }), deviceUnknown);
    const wrong = await beginLogin(vault, account);
    const guess = { sessionId: wrong.sessionId, A: wrong.A, M1: '0'.repeat(64), deviceId };
    assertError(t, await send(guess), { status: 401, code: 'invalid_proof' });
  }
});
