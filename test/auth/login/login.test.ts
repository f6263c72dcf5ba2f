import { randomUUID } from 'node:crypto';
import test from 'ava';
import { ClientError } from '../../../client/errors/client-error.ts';
import { rfc5054Group3072 } from '../../../client/srp/group.ts';
import { assertError } from '../../support/http/error-body.ts';
import { sharedVault } from '../../support/vault/shared-vault.ts';
import type { Vault } from '../../support/vault/vault.ts';
import { postJson } from '../../support/http/send.ts';
import {
  beginLogin,
  createAccount,
  inventAccount,
  logIn,
  register,
  type TestAccount,
} from '../../support/accounts/test-account.ts';

let vault: Vault;
let account: TestAccount;

test.before(async () => {
  vault = sharedVault();
  account = await createAccount(vault);
});

const challenge = (body: object) => postJson(`${vault.baseUrl}/v1/auth/login/challenge`, body);
const verify = (body: object) => postJson(`${vault.baseUrl}/v1/auth/login/verify`, body);

const expired = { status: 401, code: 'srp_session_expired' };
const invalidProof = { status: 401, code: 'invalid_proof' };
const invalidPublicValue = { status: 400, code: 'invalid_public_value' };

const { N } = rfc5054Group3072;
const badPublicValues = {
  'the number 0': '0',
  'an empty string': '',
  '768 zeros': '0'.repeat(768),
  'the number 1': '1',
  'N - 1': (N - 1n).toString(16),
  N: N.toString(16),
  'N + 2': (N + 2n).toString(16),
  '2N': (2n * N).toString(16),
  '768 times f': 'f'.repeat(768),
  '769 digits': `0${'7'.repeat(768)}`,
  'no hex': 'xyz',
  'a sign': '-2',
  'a prefix': '0x22',
  spaces: ' 22',
  'a line feed': '22\n',
};
for (const [what, A] of Object.entries(badPublicValues)) {
  test(`A is refused in both steps: ${what}`, async (t) => {
    assertError(t, await challenge({ email: account.email, A }), invalidPublicValue);
    const proof = { sessionId: randomUUID(), A, M1: '0'.repeat(64) };
    assertError(t, await verify(proof), invalidPublicValue);
  });
}

test('A is checked before the account: unknown accounts get the same refusal', async (t) => {
  assertError(t, await challenge({ email: inventAccount().email, A: '1' }), invalidPublicValue);
});

test('only a server that knows the verifier passes the client’s check of M2', async (t) => {
  const { sessionId, A, M1, proof, challenge } = await beginLogin(vault, account);
  t.is(challenge.headers.get('cache-control'), 'no-store');
  const { status, body, headers } = await verify({ sessionId, A, M1 });
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'no-store');
  const { M2 } = body as { M2: string };
  t.notThrows(() => proof.verifyServer(M2));
  t.throws(() => proof.verifyServer(M2.replace(/^./, (digit) => (digit === '0' ? '1' : '0'))), {
    instanceOf: ClientError,
  });
});

test('both responses have exactly the documented fields', async (t) => {
  const { sessionId, A, M1, challenge } = await beginLogin(vault, account);
  const first = challenge.body as Record<string, string>;
  t.deepEqual(Object.keys(first).sort(), ['B', 'expiresAt', 'salt', 'sessionId']);
  t.regex(first['B'] ?? '', /^[0-9a-f]{768}$/);
  t.is(first['salt'], account.saltHex);
  const lifeMs = Date.parse(first['expiresAt'] ?? '') - Date.now();
  t.true(lifeMs > 90_000 && lifeMs <= 120_000);

  const { body } = await verify({ sessionId, A, M1 });
  const second = body as Record<string, unknown>;
  t.deepEqual(Object.keys(second).sort(), [
    'M2',
    'accessToken',
    'expiresIn',
    'refreshToken',
    'tokenType',
  ]);
  t.regex(String(second['refreshToken']), /^prt_[A-Za-z0-9_-]{80}$/);
  t.is(second['tokenType'], 'Bearer');
  t.is(second['expiresIn'], 900);
  t.regex(String(second['M2']), /^[0-9a-f]{64}$/);
});

test('every challenge has its own B and its own session id', async (t) => {
  const A = '2'.repeat(700);
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => challenge({ email: account.email, A })),
  );
  for (const field of ['B', 'sessionId'] as const) {
    t.is(new Set(answers.map(({ body }) => (body as Record<string, string>)[field])).size, 4);
  }
});

test('a replayed SRP proof is refused', async (t) => {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  t.is((await verify({ sessionId, A, M1 })).status, 200);
  assertError(t, await verify({ sessionId, A, M1 }), expired);
  assertError(t, await verify({ A, M1 }), expired);
});

test('an SRP session serves one attempt: after a wrong proof the right one fails', async (t) => {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  assertError(t, await verify({ sessionId, A, M1: '0'.repeat(64) }), invalidProof);
  assertError(t, await verify({ sessionId, A, M1 }), expired);
});

test('an SRP session is bound to its A, and an attempt with another A ends it', async (t) => {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  assertError(t, await verify({ sessionId, A: '2222', M1 }), invalidProof);
  assertError(t, await verify({ sessionId, A, M1 }), expired);
});

test('the proof of one SRP session does not pass in another', async (t) => {
  const one = await beginLogin(vault, account);
  const other = await beginLogin(vault, account);
  assertError(
    t,
    await verify({ sessionId: other.sessionId, A: other.A, M1: one.M1 }),
    invalidProof,
  );
});

test('the proof of another account is refused', async (t) => {
  const stranger = { ...(await createAccount(vault)), email: account.email };
  const { sessionId, A, M1 } = await beginLogin(vault, stranger);
  assertError(t, await verify({ sessionId, A, M1 }), invalidProof);
});

test('exactly one of concurrent verifications of an SRP session succeeds', async (t) => {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      verify(index % 2 === 1 ? { A, M1 } : { sessionId, A, M1 }),
    ),
  );
  t.is(answers.filter(({ status }) => status === 200).length, 1);
  for (const answer of answers.filter(({ status }) => status !== 200))
    assertError(t, answer, expired);
});

test('without a session id the SRP session is found by A', async (t) => {
  const { A, M1 } = await beginLogin(vault, account);
  t.is((await verify({ A, M1 })).status, 200);
});

test('every hex field accepts upper case', async (t) => {
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  const shouted = { sessionId: sessionId.toUpperCase(), A: A.toUpperCase(), M1: M1.toUpperCase() };
  t.is((await verify(shouted)).status, 200);
});

test('A may have fewer digits, and leading zeros do not change it', async (t) => {
  const { status, body } = await challenge({ email: account.email, A: '2' });
  t.is(status, 200);
  const { sessionId } = body as { sessionId: string };
  const padded = { sessionId, A: '2'.padStart(768, '0'), M1: '0'.repeat(64) };
  assertError(t, await verify(padded), invalidProof);
});

test('the e-mail address is accepted in any case and with spaces around it', async (t) => {
  const loud = { ...account, email: ` ${account.email.toUpperCase()} ` };
  t.truthy(await logIn(vault, loud));
});

test('unknown and unvalidated e-mail addresses get the same response', async (t) => {
  const pending = inventAccount();
  await register(vault, pending);
  for (const { email } of [pending, inventAccount()]) {
    const answer = await challenge({ email, A: '2222' });
    const body = assertError(t, answer, { status: 404, code: 'user_not_found' });
    t.is(body.message, 'No active account has this e-mail address; check its spelling.');
  }
});

test('an unknown session id or A gets srp_session_expired', async (t) => {
  const M1 = '0'.repeat(64);
  assertError(t, await verify({ sessionId: randomUUID(), A: '2222', M1 }), expired);
  assertError(t, await verify({ A: '2222222', M1 }), expired);
});

test('requests that do not match their schema are refused', async (t) => {
  const invalid = { status: 400, code: 'validation_failed' };
  const { email } = account;
  const A = '22';
  const M1 = '0'.repeat(64);
  for (const body of [
    {},
    { email },
    { A },
    { email: 'jam', A },
    { email, A: 2 },
    { email, A, b: 1 },
  ]) {
    assertError(t, await challenge(body), invalid, JSON.stringify(body));
  }
  for (const body of [
    {},
    { A },
    { A, M1: M1.slice(1) },
    { A, M1: `${M1}0` },
    { A, M1: 'z'.repeat(64) },
    { A, M1: [M1] },
    { sessionId: 'jam', A, M1 },
    { sessionId: null, A, M1 },
    { A, M1, email },
  ]) {
    assertError(t, await verify(body), invalid, JSON.stringify(body));
  }
});
