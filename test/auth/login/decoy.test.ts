import { randomBytes, randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import {
  beginLogin,
  createAccount,
  inventAccount,
  register,
} from '../../support/accounts/test-account.ts';
import { assertError } from '../../support/http/error-body.ts';
import { postJson } from '../../support/http/send.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault({ AUTH_UNKNOWN_USER: 'decoy' });
});
test.after.always((t) => t.context.vault.stop());

/** Logs in with a wrong proof and returns both responses. */
async function failLogin(vault: TestVault, email: string) {
  const { sessionId, A, challenge } = await beginLogin(vault, inventAccount(email));
  const M1 = randomBytes(32).toString('hex');
  const verify = await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1 });
  return { challenge, verify };
}

function shapeOf({ status, body }: { status: number; body: unknown }) {
  const fields = Object.entries(body as Record<string, unknown>);
  return { status, fields: fields.map(([name, value]) => [name, String(value).length]) };
}

test('with decoys an unknown e-mail address looks like a wrong password', async (t) => {
  const { vault } = t.context;
  const known = await failLogin(vault, (await createAccount(vault)).email);
  const unknown = await failLogin(vault, inventAccount().email);
  t.is(unknown.challenge.status, 200);
  t.deepEqual(shapeOf(unknown.challenge), shapeOf(known.challenge));
  assertError(t, unknown.verify, { status: 401, code: 'invalid_proof' });
  t.deepEqual(shapeOf(unknown.verify), shapeOf(known.verify));
});

test('the salt of an unknown e-mail address is stable, and differs for each address', async (t) => {
  const { vault } = t.context;
  const saltOf = async (email: string) => {
    const { challenge } = await beginLogin(vault, inventAccount(email));
    return (challenge.body as { salt: string }).salt;
  };
  const email = inventAccount().email;
  const salt = await saltOf(email);
  t.regex(salt, /^[0-9a-f]{64}$/);
  t.is(await saltOf(email), salt);
  t.is(await saltOf(` ${email.toUpperCase()}`), salt);
  t.not(await saltOf(inventAccount().email), salt);
});

test('a pending account gets the salt of an unknown one', async (t) => {
  const { vault } = t.context;
  const pending = inventAccount();
  const saltOf = async () => (await beginLogin(vault, pending)).challenge.body as { salt: string };
  const { salt } = await saltOf();
  t.is((await register(vault, pending)).status, 200);
  t.is((await saltOf()).salt, salt);
  t.not(salt, pending.saltHex);
});

test('with decoys a registration needs a salt of 32 bytes, as decoys have', async (t) => {
  const { vault } = t.context;
  const { email, verifierHex } = inventAccount();
  for (const bytes of [16, 31, 33, 64]) {
    const answer = await postJson(`${vault.baseUrl}/v1/auth/register`, {
      email,
      salt: randomBytes(bytes).toString('hex'),
      verifier: verifierHex,
    });
    assertError(t, answer, { status: 400, code: 'validation_failed' });
    const { details } = answer.body as { details: unknown };
    t.deepEqual(details, [{ path: 'salt', message: 'must be 32 bytes' }]);
  }
});

test('with decoys a correct login succeeds', async (t) => {
  const { vault } = t.context;
  const account = await createAccount(vault);
  const { sessionId, A, M1 } = await beginLogin(vault, account);
  const { status } = await postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1 });
  t.is(status, 200);
});

test('the SRP session of a decoy serves one attempt', async (t) => {
  const { vault } = t.context;
  const { sessionId, A } = await beginLogin(vault, inventAccount(`${randomUUID()}@example.org`));
  const verify = () =>
    postJson(`${vault.baseUrl}/v1/auth/login/verify`, { sessionId, A, M1: 'ab'.repeat(32) });
  assertError(t, await verify(), { status: 401, code: 'invalid_proof' });
  assertError(t, await verify(), { status: 401, code: 'srp_session_expired' });
});
