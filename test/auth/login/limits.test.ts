import { createHash, randomBytes } from 'node:crypto';
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

async function logInFrom(
  vault: TestVault,
  clientAddress: string,
  account: TestAccount,
  M1?: string,
) {
  const srp = startSrpLogin();
  const { email, authKey } = account;
  const challenge = await postFrom(vault, clientAddress, '/v1/auth/login/challenge', {
    email,
    A: srp.A,
  });
  const { sessionId, salt, B } = challenge.body as Record<'sessionId' | 'salt' | 'B', string>;
  const proof = M1 ?? srp.prove({ salt: hexToBytes(salt), B, authKey }).M1;
  const json = { sessionId, A: srp.A, M1: proof };
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
  const answers = await Promise.all(
    Array.from({ length: 50 }, () => logInFrom(vault, attacker, account, wrongProof)),
  );
  const judged = answers.filter(({ status }) => status === 401);
  const refused = answers.filter(({ status }) => status === 429);
  t.deepEqual([judged.length, refused.length], [10, 40]);
  for (const answer of refused) {
    assertError(t, answer, limited);
    t.true(Number(answer.headers.get('retry-after')) > 0);
  }
  t.is((await logInFrom(vault, home, account)).status, 200);
  t.is((await logInFrom(vault, attacker, account)).status, 429);
  t.is((await logInFrom(vault, inventClientAddress(), account)).status, 429);
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
