import { createHash, randomBytes, randomUUID } from 'node:crypto';
import anyTest, { type TestFn } from 'ava';
import { hexToBytes } from '@noble/hashes/utils.js';
import { startSrpLogin } from '../../../client/srp/login.ts';
import { validationMails } from '../../support/accounts/mails.ts';
import { inventAccount, validate, type TestAccount } from '../../support/accounts/test-account.ts';
import { assertError } from '../../support/http/error-body.ts';
import { send } from '../../support/http/send.ts';
import { startReadyVault, type TestVault } from '../../support/vault/vault.ts';

const test = anyTest as TestFn<{ vault: TestVault }>;

test.before(async (t) => {
  t.context.vault = await startReadyVault({
    HTTP_TRUSTED_PROXIES: '127.0.0.1/32',
    LIMITS_REGISTER_ADDRESS: '5/1h',
    LIMITS_CHALLENGE_ADDRESS: '60/1m',
    LIMITS_PROOF_ADDRESS: '10/15m',
    LIMITS_PROOF_ACCOUNT: '10/15m',
  });
});
test.after.always((t) => t.context.vault.stop());

const challengePath = '/v1/auth/login/challenge';
const limited = { status: 429, code: 'rate_limited' };

/** Returns a random client address of a documentation network (RFC 3849). */
function inventClientAddress(): string {
  return `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`;
}

function postFrom({ baseUrl }: TestVault, clientAddress: string, path: string, json: unknown) {
  return send('POST', baseUrl + path, { json, headers: { 'x-forwarded-for': clientAddress } });
}

function registerFrom(vault: TestVault, clientAddress: string, email = inventAccount().email) {
  const { saltHex, verifierHex } = inventAccount();
  const json = { email, salt: saltHex, verifier: verifierHex };
  return postFrom(vault, clientAddress, '/v1/auth/register', json);
}

/** Begins a login from a client address. Returns the login proof, or `M1` in place of it. */
async function proofFrom(
  vault: TestVault,
  clientAddress: string,
  { email, authKey }: TestAccount,
  M1?: string,
) {
  const srp = startSrpLogin();
  const challenge = await postFrom(vault, clientAddress, challengePath, { email, A: srp.A });
  const { sessionId, salt, B } = challenge.body as Record<'sessionId' | 'salt' | 'B', string>;
  if (challenge.status !== 200) return { sessionId: randomUUID(), A: srp.A, M1: wrongProof };
  const proof = M1 ?? srp.prove({ salt: hexToBytes(salt), B, authKey }).M1;
  return { sessionId, A: srp.A, M1: proof };
}

async function logInFrom(
  vault: TestVault,
  clientAddress: string,
  account: TestAccount,
  M1?: string,
) {
  const json = await proofFrom(vault, clientAddress, account, M1);
  return postFrom(vault, clientAddress, '/v1/auth/login/verify', json);
}

const wrongProof = createHash('sha3-256').update('wrong').digest('hex');

test('a client /64 registers five times an hour', async (t) => {
  const { vault } = t.context;
  const clientAddress = inventClientAddress();
  for (let i = 0; i < 5; i++) {
    t.is((await registerFrom(vault, clientAddress.replace(/1$/, String(i + 1)))).status, 200);
  }
  const answer = await registerFrom(vault, clientAddress);
  assertError(t, answer, limited);
  const retryAfter = Number(answer.headers.get('retry-after'));
  t.true(retryAfter > 3_000 && retryAfter <= 3_600, `Retry-After: ${retryAfter}`);
  t.is((await registerFrom(vault, inventClientAddress())).status, 200);
});

test('a request that does not match the schema does not count', async (t) => {
  const { vault } = t.context;
  const clientAddress = inventClientAddress();
  for (let i = 0; i < 8; i++) {
    const answer = await postFrom(vault, clientAddress, '/v1/auth/register', {
      email: 'no address',
    });
    t.is(answer.status, 400);
  }
  t.is((await registerFrom(vault, clientAddress)).status, 200);
});

test('10 of 50 wrong proofs are checked, and the owner still logs in from home', async (t) => {
  const { vault } = t.context;
  const account = await createAccountFrom(vault);
  const [home, attacker] = [inventClientAddress(), inventClientAddress()];
  t.is((await logInFrom(vault, home, account)).status, 200);
  // The challenges are asked for one after the other, so that a slow machine refuses none as busy.
  const proofs = [];
  for (let i = 0; i < 50; i += 1) {
    proofs.push(await proofFrom(vault, attacker, account, wrongProof));
  }
  const answers = await Promise.all(
    proofs.map((proof) => postFrom(vault, attacker, '/v1/auth/login/verify', proof)),
  );
  const codes = answers.map(({ body }) => (body as { code: string }).code);
  const judged = Array.from({ length: 10 }, () => 'invalid_proof');
  const refused = Array.from({ length: 40 }, () => 'rate_limited');
  t.deepEqual(codes.toSorted(), [...judged, ...refused]);
  for (const answer of answers.filter(({ status }) => status === 429)) {
    assertError(t, answer, limited);
    t.true(Number(answer.headers.get('retry-after')) > 0);
  }
  t.is((await logInFrom(vault, home, account)).status, 200);
  t.is((await logInFrom(vault, attacker, account)).status, 429);
  t.is((await logInFrom(vault, inventClientAddress(), account)).status, 429);
});

test('a neighbour behind the same NAT keeps nobody from a login who knows the place', async (t) => {
  const { vault } = t.context;
  const [owner, newcomer] = [await createAccountFrom(vault), await createAccountFrom(vault)];
  const office = inventClientAddress();
  t.is((await logInFrom(vault, office, owner)).status, 200);
  const hostile = await createAccountFrom(vault);
  for (let round = 0; round < 20; round += 1) {
    await logInFrom(vault, office, hostile, wrongProof);
    const json = { email: hostile.email, A: startSrpLogin().A };
    for (let i = 0; i < 3; i += 1) await postFrom(vault, office, challengePath, json);
  }
  const json = { email: newcomer.email, A: startSrpLogin().A };
  assertError(t, await postFrom(vault, office, challengePath, json), limited);
  const strange = { ...json, email: inventAccount().email };
  assertError(t, await postFrom(vault, office, challengePath, strange), limited);
  const answer = await logInFrom(vault, office, owner);
  t.is(answer.status, 200, answer.text);
});

test('a session reauthenticates at a new place while its account is attacked', async (t) => {
  const { vault } = t.context;
  const account = await createAccountFrom(vault);
  const login = await logInFrom(vault, inventClientAddress(), account);
  const { accessToken } = login.body as { accessToken: string };
  for (let i = 0; i < 11; i += 1) {
    await logInFrom(vault, inventClientAddress(), account, wrongProof);
  }
  const place = inventClientAddress();
  assertError(t, await logInFrom(vault, place, account), limited);
  const reauthenticate = async (M1?: string) => {
    const json = await proofFrom(vault, place, account, M1);
    const headers = { 'x-forwarded-for': place };
    return send('POST', `${vault.baseUrl}/v1/auth/reauth`, { json, token: accessToken, headers });
  };
  const answer = await reauthenticate();
  t.is(answer.status, 200, answer.text);
  for (let i = 0; i < 10; i += 1) t.is((await reauthenticate(wrongProof)).status, 401);
  assertError(t, await reauthenticate(), limited);
});

test('a session of another account does not help to guess a password', async (t) => {
  const { vault } = t.context;
  const [victim, guesser] = [await createAccountFrom(vault), await createAccountFrom(vault)];
  const statuses = [];
  for (let session = 0; session < 2; session += 1) {
    const login = await logInFrom(vault, inventClientAddress(), guesser);
    const { accessToken } = login.body as { accessToken: string };
    for (let i = 0; i < 8; i += 1) {
      const place = inventClientAddress();
      const json = await proofFrom(vault, place, victim, wrongProof);
      const headers = { 'x-forwarded-for': place };
      const url = `${vault.baseUrl}/v1/auth/reauth`;
      statuses.push((await send('POST', url, { json, token: accessToken, headers })).status);
    }
  }
  t.is(statuses.filter((status) => status === 401).length, 10);
  t.is(statuses.filter((status) => status === 429).length, 6);
});

test('a forged X-Forwarded-For does not change the client address', async (t) => {
  const { vault } = t.context;
  const clientAddress = inventClientAddress();
  for (let i = 0; i < 5; i++) t.is((await registerFrom(vault, clientAddress)).status, 200);
  assertError(t, await registerFrom(vault, `${inventClientAddress()}, ${clientAddress}`), limited);
});

/** Registers and validates an account from a client address of its own. */
async function createAccountFrom(vault: TestVault): Promise<TestAccount> {
  const account = inventAccount();
  const { email, saltHex: salt, verifierHex: verifier } = account;
  const clientAddress = inventClientAddress();
  await postFrom(vault, clientAddress, '/v1/auth/register', { email, salt, verifier });
  const [mail] = await validationMails(vault, email, 1);
  await validate(vault, mail?.token ?? '');
  return account;
}
