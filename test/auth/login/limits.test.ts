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
    LIMITS_REGISTER_EMAIL: '3/1h',
    LIMITS_CHALLENGE_ADDRESS: '300/1m',
    LIMITS_PROOF_ADDRESS: '10/15m',
    LIMITS_PROOF_ACCOUNT: '10/15m',
  });
});
test.after.always((t) => t.context.vault.stop());

const limited = { status: 429, code: 'rate_limited' };

/** An address nobody else has, from a network for documentation (RFC 3849). */
function inventAddress(): string {
  return `2001:db8:${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}::1`;
}

function postFrom({ baseUrl }: TestVault, address: string, path: string, json: unknown) {
  return send('POST', baseUrl + path, { json, headers: { 'x-forwarded-for': address } });
}

function registerFrom(vault: TestVault, address: string, email = inventAccount().email) {
  const { saltHex, verifierHex } = inventAccount();
  const json = { email, salt: saltHex, verifier: verifierHex };
  return postFrom(vault, address, '/v1/auth/register', json);
}

async function logInFrom(vault: TestVault, address: string, account: TestAccount, M1?: string) {
  const srp = startSrpLogin();
  const { email, authKey } = account;
  const challenge = await postFrom(vault, address, '/v1/auth/login/challenge', { email, A: srp.A });
  const { sessionId, salt, B } = challenge.body as Record<'sessionId' | 'salt' | 'B', string>;
  const proof = M1 ?? srp.prove({ salt: hexToBytes(salt), B, authKey }).M1;
  const json = { sessionId, A: srp.A, M1: proof };
  return postFrom(vault, address, '/v1/auth/login/verify', json);
}

const wrongProof = createHash('sha3-256').update('wrong').digest('hex');

test('an address registers five times an hour, all of its /64 together', async (t) => {
  const { vault } = t.context;
  const address = inventAddress();
  for (let i = 0; i < 5; i++) {
    t.is((await registerFrom(vault, address.replace(/1$/, String(i + 1)))).status, 200);
  }
  const answer = await registerFrom(vault, address);
  assertError(t, answer, limited);
  const retryAfter = Number(answer.headers.get('retry-after'));
  t.true(retryAfter > 3_000 && retryAfter <= 3_600, `Retry-After: ${retryAfter}`);
  t.is((await registerFrom(vault, inventAddress())).status, 200);
});

test('an e-mail address is registered three times an hour, known or not', async (t) => {
  const { vault } = t.context;
  const known = await createAccountFrom(vault);
  for (const [email, uses] of [
    [known.email, 2],
    [inventAccount().email, 3],
  ] as const) {
    for (let i = 0; i < uses; i++) {
      t.is((await registerFrom(vault, inventAddress(), email)).status, 200);
    }
    assertError(t, await registerFrom(vault, inventAddress(), ` ${email.toUpperCase()}`), limited);
  }
});

test('what does not match the schema does not count', async (t) => {
  const { vault } = t.context;
  const address = inventAddress();
  for (let i = 0; i < 8; i++) {
    const answer = await postFrom(vault, address, '/v1/auth/register', { email: 'no address' });
    t.is(answer.status, 400);
  }
  t.is((await registerFrom(vault, address)).status, 200);
});

test('of 50 wrong proofs 10 are judged, and the owner logs in from where they always did', async (t) => {
  const { vault } = t.context;
  const account = await createAccountFrom(vault);
  const [home, attacker] = [inventAddress(), inventAddress()];
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
  t.is((await logInFrom(vault, inventAddress(), account)).status, 429);
});

test('a forged X-Forwarded-For lends no address', async (t) => {
  const { vault } = t.context;
  const address = inventAddress();
  for (let i = 0; i < 5; i++) t.is((await registerFrom(vault, address)).status, 200);
  assertError(t, await registerFrom(vault, `${inventAddress()}, ${address}`), limited);
});

/** Registered and validated from an address of its own. */
async function createAccountFrom(vault: TestVault): Promise<TestAccount> {
  const account = inventAccount();
  const { email, saltHex: salt, verifierHex: verifier } = account;
  const address = inventAddress();
  await postFrom(vault, address, '/v1/auth/register', { email, salt, verifier });
  const [mail] = await validationMails(vault, email, 1);
  await validate(vault, mail?.token ?? '');
  return account;
}
