import { randomBytes } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import {
  entriesOf,
  hashOf,
  refresh,
  sessionIdOf,
  tryToken,
  type TokenPair,
} from '../support/accounts/sessions.ts';
import { createAccount, openSession, type TestAccount } from '../support/accounts/test-account.ts';
import { assertError } from '../support/http/error-body.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import type { Vault } from '../support/vault/vault.ts';

let vault: Vault;
let account: TestAccount;
let sql: Sql;

test.before(async () => {
  vault = sharedVault();
  account = await createAccount(vault);
  sql = createSql(vault);
});

const refused = { status: 401, code: 'invalid_refresh_token' };
const invalidToken = { status: 401, code: 'invalid_token' };

/** Opens a session and refreshes it until it has had `count` pairs, which it returns. */
async function generations(t: ExecutionContext, count: number): Promise<TokenPair[]> {
  const pairs: TokenPair[] = [await openSession(vault, account)];
  while (pairs.length < count) {
    const { status, text, body } = await refresh(vault, pairs.at(-1)?.refreshToken ?? '');
    t.is(status, 200, text);
    pairs.push(body as TokenPair);
  }
  return pairs;
}

async function countReuses(pair: TokenPair | undefined): Promise<number> {
  const entries = await entriesOf(vault, sessionIdOf(pair?.accessToken ?? ''));
  return entries.filter(({ action }) => action === 'auth.refresh_reused').length;
}

test('a refresh token of any earlier generation ends its session', async (t) => {
  for (const age of [1, 2, 3, 5]) {
    const pairs = await generations(t, 6);
    const [last, earlier] = [pairs.at(-1), pairs.at(-1 - age)];
    await sql(
      'update login_sessions set previous_used_at = previous_used_at - $2::interval where id = $1',
      [sessionIdOf(last?.accessToken ?? ''), '11 seconds'],
    );
    assertError(t, await refresh(vault, earlier?.refreshToken ?? ''), refused, `age ${age}`);
    assertError(t, await refresh(vault, last?.refreshToken ?? ''), refused, `age ${age}`);
    assertError(t, await tryToken(vault, last?.accessToken ?? ''), invalidToken, `age ${age}`);
    t.is(await countReuses(last), 1, `age ${age}`);
  }
});

test('a refresh token ends its session after years too', async (t) => {
  const [first, , last] = await generations(t, 3);
  await sql(
    `update login_sessions set created_at = created_at - interval '3 years',
       previous_used_at = previous_used_at - interval '2 years' where id = $1`,
    [sessionIdOf(last?.accessToken ?? '')],
  );
  assertError(t, await refresh(vault, first?.refreshToken ?? ''), refused);
  assertError(t, await refresh(vault, last?.refreshToken ?? ''), refused);
});

const prefix = 'prt_';
/** The bytes of a refresh token: session id, generation, random bytes and MAC. */
const bytesOf = (token: string) => Buffer.from(token.slice(prefix.length), 'base64url');
const toToken = (...parts: readonly Uint8Array[]) =>
  `${prefix}${Buffer.concat(parts).toString('base64url')}`;

test('a forged refresh token is refused and ends nothing', async (t) => {
  const pairs = await generations(t, 3);
  const last = pairs[2];
  const other = await openSession(vault, account);
  const genuine = bytesOf(last?.refreshToken ?? '');
  const flip = (place: number) => {
    const bytes = Buffer.from(genuine);
    bytes[place] = (bytes[place] ?? 0) ^ 1;
    return toToken(bytes);
  };
  const generation = (value: number) => {
    const bytes = Buffer.from(genuine);
    bytes.writeUInt32BE(value, 16);
    return toToken(bytes);
  };
  const forged = {
    'an earlier generation': generation(1),
    'a later generation': generation(4),
    'the generation of a recovery login': generation(0),
    'other random bytes': toToken(genuine.subarray(0, 20), randomBytes(24), genuine.subarray(44)),
    'another MAC': toToken(genuine.subarray(0, 44), randomBytes(16)),
    'no MAC': toToken(genuine.subarray(0, 44), Buffer.alloc(16)),
    'the MAC of another session': toToken(
      bytesOf(other.refreshToken).subarray(0, 16),
      genuine.subarray(16),
    ),
    'a longer text': `${last?.refreshToken}AAAA`,
    'a shorter text': last?.refreshToken.slice(0, -4) ?? '',
    'a text in other characters': last?.refreshToken.replace(/.$/, '+') ?? '',
    'another prefix': last?.refreshToken.replace(prefix, 'pat_') ?? '',
    ...Object.fromEntries([0, 15, 16, 19, 20, 43, 44, 59].map((at) => [`byte ${at}`, flip(at)])),
  };
  for (const [what, token] of Object.entries(forged)) {
    assertError(t, await refresh(vault, token), refused, what);
  }
  for (const pair of [last, other]) {
    t.is((await tryToken(vault, pair?.accessToken ?? '')).status, 200);
    t.is(await countReuses(pair), 0);
    t.is((await refresh(vault, pair?.refreshToken ?? '')).status, 200);
  }
});

test('a refresh token that a restore forgot is refused and ends nothing', async (t) => {
  const [first, , last] = await generations(t, 3);
  await sql(
    `update login_sessions set refresh_generation = 1, refresh_hash = decode($2, 'hex'),
       previous_hash = null, previous_used_at = null where id = $1`,
    [sessionIdOf(first?.accessToken ?? ''), hashOf(first?.refreshToken ?? '')],
  );
  assertError(t, await refresh(vault, last?.refreshToken ?? ''), refused);
  t.is(await countReuses(first), 0);
  t.is((await refresh(vault, first?.refreshToken ?? '')).status, 200);
});

test('parallel uses of the good and an earlier refresh token end the session once', async (t) => {
  for (let round = 0; round < 5; round += 1) {
    const pairs = await generations(t, 4);
    const last = pairs[3];
    const presented = [last, pairs[0], last, pairs[1], last, pairs[0]];
    const answers = await Promise.all(
      presented.map((pair) => refresh(vault, pair?.refreshToken ?? '')),
    );
    for (const at of [1, 3, 5]) t.is(answers[at]?.status, 401);
    t.is(await countReuses(last), 1);
    const issued = answers.flatMap(({ status, body }) =>
      status === 200 ? [(body as TokenPair).refreshToken] : [],
    );
    for (const token of [...issued, last?.refreshToken ?? '']) {
      assertError(t, await refresh(vault, token), refused);
    }
  }
});

test('parallel refreshes of the sessions of an account each get a successor', async (t) => {
  const sessions = await Promise.all(Array.from({ length: 12 }, () => openSession(vault, account)));
  const next = await Promise.all(sessions.map((pair) => refresh(vault, pair.refreshToken)));
  for (const [at, { status, text, body }] of next.entries()) {
    t.is(status, 200, text);
    const pair = body as TokenPair;
    t.is(sessionIdOf(pair.accessToken), sessionIdOf(sessions[at]?.accessToken ?? ''));
    t.is((await refresh(vault, pair.refreshToken)).status, 200);
  }
});
