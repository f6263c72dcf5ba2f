import { randomUUID } from 'node:crypto';
import test from 'ava';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { AppError } from '../../../app/errors/app-error.ts';
import { createAccount } from '../../support/accounts/test-account.ts';
import { assertError } from '../../support/http/error-body.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { createSql } from '../../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';
import {
  createPasswordUser,
  freshProof,
  reauth,
  type PasswordUser,
} from '../../support/accounts/reauth-account.ts';
import { entriesOf, sessionIdOf } from '../../support/accounts/sessions.ts';
import { serviceRequest } from '../../support/http/service-request.ts';

let vault: TestVault;
let user: PasswordUser;

test.before(async () => {
  vault = await startReadyVault();
  user = await createPasswordUser(vault, 'correct horse battery staple');
});
test.after.always(() => vault.stop());

const invalidCredentials = { status: 401, code: 'invalid_credentials' };
const invalid = { status: 400, code: 'validation_failed' };

test.serial(
  'a password gets a reauthentication token of five minutes, on every path',
  async (t) => {
    for (const path of ['/auth/reauth', '/v1/auth/reauth', '/api/v1/auth/reauth']) {
      const askedAt = Math.floor(Date.now() / 1000);
      const answer = await reauth(vault, user.token, { password: user.password }, path);
      t.is(answer.status, 200, answer.text);
      t.is(answer.headers.get('cache-control'), 'no-store');
      const { reauthToken, expiresAt, ...rest } = answer.body as Record<string, string>;
      t.deepEqual(rest, {});
      const claims = decodeJwt(reauthToken ?? '');
      t.like(claims, { sub: user.userId, purpose: 'reauth' });
      t.is(decodeProtectedHeader(reauthToken ?? '').typ, 'reauth+jwt');
      t.is((claims.exp ?? 0) - (claims.iat ?? 0), 300);
      t.true((claims.iat ?? 0) >= askedAt);
      t.is(expiresAt, new Date((claims.exp ?? 0) * 1000).toISOString());
    }
  },
);

test.serial('the SRP proof of a fresh challenge works in place of the password', async (t) => {
  const answer = await reauth(vault, user.token, await freshProof(vault, user));
  t.is(answer.status, 200, answer.text);
  const { reauthToken } = answer.body as { reauthToken: string };
  t.like(decodeJwt(reauthToken), { sub: user.userId, purpose: 'reauth' });
});

test.serial('a wrong password and the password of another account are refused', async (t) => {
  const other = await createPasswordUser(vault, 'another password');
  for (const password of ['', ' ', 'x', user.password.toUpperCase(), `${user.password} `]) {
    const expected = password === '' ? invalid : invalidCredentials;
    assertError(t, await reauth(vault, user.token, { password }), expected);
  }
  assertError(t, await reauth(vault, user.token, { password: other.password }), invalidCredentials);
});

test.serial('an account that does not exist has no password', async (t) => {
  const { token } = await createApi(vault);
  assertError(t, await reauth(vault, token, { password: 'any' }), invalidCredentials);
});

test.serial('a password matches in every Unicode composition of its letters', async (t) => {
  const composed = await createPasswordUser(vault, '\u00c5ngstr\u00f6m \ufb01 \u00bd');
  const password = 'A\u030angstro\u0308m fi 1\u20442';
  t.not(password, composed.password);
  t.is((await reauth(vault, composed.token, { password })).status, 200);
});

test.serial('a password has at most 1024 bytes', async (t) => {
  for (const password of ['x'.repeat(1024), '\u00e9'.repeat(512)]) {
    assertError(t, await reauth(vault, user.token, { password }), invalidCredentials);
  }
  for (const password of ['x'.repeat(1025), '\u00e9'.repeat(513)]) {
    const { details } = assertError(t, await reauth(vault, user.token, { password }), invalid);
    t.deepEqual(details, [{ path: 'password', message: 'must be at most 1024 bytes' }]);
  }
});

test.serial('a body with both forms or an incomplete one is refused', async (t) => {
  const proof = { sessionId: randomUUID(), A: '22', M1: '0'.repeat(64) };
  const bodies: object[] = [
    {},
    [],
    { password: 1 },
    { password: null },
    { password: ['x'] },
    { password: 'x', remember: true },
    { ...proof, password: 'x' },
    { ...proof, deviceId: randomUUID() },
    { ...proof, sessionId: undefined },
    { ...proof, sessionId: 'x' },
    { ...proof, M1: '0'.repeat(63) },
    { A: proof.A },
  ];
  for (const body of bodies) {
    assertError(t, await reauth(vault, user.token, body), invalid, JSON.stringify(body));
  }
});

test.serial('an SRP proof is refused with the same errors as at login', async (t) => {
  const proof = await freshProof(vault, user);
  const wrong = { ...proof, M1: '0'.repeat(64) };
  const expired = { status: 401, code: 'srp_session_expired' };
  assertError(t, await reauth(vault, user.token, wrong), { status: 401, code: 'invalid_proof' });
  assertError(t, await reauth(vault, user.token, proof), expired);
  assertError(t, await reauth(vault, user.token, { ...proof, sessionId: randomUUID() }), expired);
  const A = await reauth(vault, user.token, { ...proof, A: '1' });
  assertError(t, A, { status: 400, code: 'invalid_public_value' });
});

test.serial('the SRP proof of another account is refused', async (t) => {
  const proof = await freshProof(vault, await createAccount(vault));
  assertError(t, await reauth(vault, user.token, proof), invalidCredentials);
});

test.serial('a reauthentication leaves an entry of the session with its method', async (t) => {
  const { token } = await createPasswordUser(vault, 'p');
  const sessionId = sessionIdOf(token);
  const own = { ...user, token };
  assertError(t, await reauth(vault, own.token, { password: 'q' }), invalidCredentials);
  t.is((await reauth(vault, token, { password: 'p' })).status, 200);
  const entries = (await entriesOf(vault, sessionId)).slice(1);
  t.deepEqual(
    entries.map(({ action, outcome, data }) => ({ action, outcome, data })),
    [{ action: 'auth.reauthenticated', outcome: 'success', data: { method: 'password' } }],
  );
  const before = (await entriesOf(vault, sessionIdOf(user.token))).length;
  await reauth(vault, user.token, await freshProof(vault, user));
  const after = await entriesOf(vault, sessionIdOf(user.token));
  t.is(after.length, before + 1);
  t.like(after.at(-1), {
    actor: { type: 'user', id: user.userId },
    data: { method: 'srp' },
  });
});

test.serial('wrong passwords are counted with the failed logins of the account', async (t) => {
  const { token, userId } = await createPasswordUser(vault, 'p');
  for (let i = 0; i < 3; i += 1) await reauth(vault, token, { password: 'q' });
  const count = `
    select coalesce(sum(count), 0)
      + coalesce((select sum((canonical::json -> 'data' ->> 'count')::int) from audit_entries
          where user_id = $1 and action = 'auth.login_failed'), 0) as count
    from audit_tallies where user_id = $1 and action = 'auth.login_failed'`;
  t.is(Number((await createSql(vault)(count, [userId]))[0]?.['count']), 3);
});

test.serial('users of other issuers cannot reauthenticate', async (t) => {
  const { caller: subject } = await createApi(vault);
  const caller = { ...subject, userId: user.userId, expiresAt: new Date() };
  for (const stranger of [
    { ...caller, issuer: 'https://elsewhere.test' },
    { ...caller, issuer: vault.config.auth.issuer, sessionId: undefined },
  ]) {
    const { password } = user;
    const refused = vault.services.reauth.reauthenticate(serviceRequest(stranger), { password });
    t.is((await t.throwsAsync(refused, { instanceOf: AppError }))?.code, 'access_denied');
  }
});

test.serial('a user with 50 passwords to check keeps nobody else from a check', async (t) => {
  const other = await createPasswordUser(vault, 'another password');
  const flood = Array.from({ length: 50 }, () =>
    reauth(vault, user.token, { password: user.password }),
  );
  await Promise.race(flood);
  for (let round = 0; round < 3; round += 1) {
    const { status, text } = await reauth(vault, other.token, { password: other.password });
    t.is(status, 200, text);
  }
  const answers = await Promise.all(flood);
  const refused = answers.filter(({ status }) => status !== 200);
  t.true(refused.length > 0);
  for (const answer of refused) {
    assertError(t, answer, { status: 429, code: 'rate_limited' });
    t.is(answer.headers.get('retry-after'), '1');
  }
});

test.serial('a password check that is refused for its number costs no attempt', async (t) => {
  const limit = 3;
  const strict = await startReadyVault({ LIMITS_PROOF_ACCOUNT: `${limit}/15m` });
  t.teardown(() => strict.stop());
  const { token, password } = await createPasswordUser(strict, 'p');
  const ask = () => reauth(strict, token, { password });
  let refused = 0;
  while (refused <= limit) {
    const answers = await Promise.all(Array.from({ length: 5 }, ask));
    const others = answers.filter(({ status }) => status !== 200);
    for (const answer of others) {
      assertError(t, answer, { status: 429, code: 'rate_limited' });
      t.is(answer.headers.get('retry-after'), '1', 'the limit of failed proofs would be longer');
    }
    t.true(others.length < 5, 'some are checked');
    refused += others.length;
  }
});

test.serial('wrong passwords share the limit of failed logins', async (t) => {
  const strict = await startReadyVault({ LIMITS_PROOF_ACCOUNT: '3/15m' });
  t.teardown(() => strict.stop());
  const account = await createPasswordUser(strict, 'p');
  const other = await createPasswordUser(strict, 'p');
  const { token } = account;
  const limited = { status: 429, code: 'rate_limited' };
  for (const password of ['a', 'b']) {
    assertError(t, await reauth(strict, token, { password }), invalidCredentials);
  }
  t.is(
    (await reauth(strict, token, { password: 'p' })).status,
    200,
    'a correct one does not count',
  );
  const wrong = { ...(await freshProof(strict, account)), M1: '0'.repeat(64) };
  assertError(t, await reauth(strict, token, wrong), { status: 401, code: 'invalid_proof' });
  assertError(t, await reauth(strict, token, { password: 'p' }), limited);
  assertError(t, await reauth(strict, token, await freshProof(strict, account)), limited);
  t.is((await reauth(strict, other.token, { password: 'p' })).status, 200);
});

test.serial('where passwords are refused, only an SRP proof reauthenticates', async (t) => {
  const strict = await startReadyVault({ AUTH_REAUTH_PASSWORD: 'refuse' });
  t.teardown(() => strict.stop());
  const account = await createPasswordUser(strict, 'p');
  for (const password of ['p', 'q']) {
    assertError(t, await reauth(strict, account.token, { password }), {
      status: 403,
      code: 'reauth_password_refused',
    });
  }
  const proof = await freshProof(strict, account);
  t.is((await reauth(strict, account.token, proof)).status, 200);
});
