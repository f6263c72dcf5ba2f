import test, { type ExecutionContext } from 'ava';
import {
  entriesOf,
  hashOf,
  refresh,
  replay,
  sessionIdOf,
  tryToken,
  type TokenPair,
} from '../support/accounts/sessions.ts';
import { createAccount, openSession, type TestAccount } from '../support/accounts/test-account.ts';
import { assertError } from '../support/http/error-body.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

let vault: TestVault;
let account: TestAccount;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  account = await createAccount(vault);
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

const refused = { status: 401, code: 'invalid_refresh_token' };

async function renew(t: ExecutionContext, refreshToken: string): Promise<TokenPair> {
  const { status, text, body } = await refresh(vault, refreshToken);
  t.is(status, 200, text);
  return body as TokenPair;
}

/** Returns the hash of the refresh token of a session that is good. */
async function goodToken({ accessToken }: TokenPair): Promise<unknown> {
  const rows = await sql(
    "select encode(refresh_hash, 'hex') as hash from login_sessions where id = $1",
    [sessionIdOf(accessToken)],
  );
  return rows[0]?.['hash'];
}

const secondsAgo = (refreshToken: string, seconds: number) =>
  sql(
    `update login_sessions set previous_used_at = now() - make_interval(secs => $2)
     where previous_hash = decode($1, 'hex')`,
    [hashOf(refreshToken), seconds],
  );

test('a refresh token whose response was lost gets a new successor, which is good', async (t) => {
  const first = await openSession(vault, account);
  const lost = await renew(t, first.refreshToken);
  const second = await renew(t, first.refreshToken);
  t.not(second.refreshToken, lost.refreshToken);
  t.is(sessionIdOf(second.accessToken), sessionIdOf(first.accessToken));
  t.is(await goodToken(first), hashOf(second.refreshToken));
  const third = await renew(t, second.refreshToken);
  t.is((await tryToken(vault, third.accessToken)).status, 200);

  const entries = (await entriesOf(vault, sessionIdOf(first.accessToken))).slice(1);
  t.deepEqual(
    entries.map(({ action, data }) => [action, data]),
    [
      ['auth.refreshed', {}],
      ['auth.refreshed', { isRepeated: true }],
      ['auth.refreshed', {}],
    ],
  );
});

test('a successor that was replaced ends the session, since two clients hold one', async (t) => {
  const first = await openSession(vault, account);
  const stolen = await renew(t, first.refreshToken);
  const second = await renew(t, first.refreshToken);
  assertError(t, await refresh(vault, stolen.refreshToken), refused);
  assertError(t, await refresh(vault, second.refreshToken), refused);
  assertError(t, await tryToken(vault, second.accessToken), { status: 401, code: 'invalid_token' });
});

test('a refresh token whose successor was used ends the session within 10 s too', async (t) => {
  const first = await openSession(vault, account);
  assertError(t, await replay(vault, first.refreshToken), refused);
  const last = (await entriesOf(vault, sessionIdOf(first.accessToken))).at(-1);
  t.is(last?.action, 'auth.refresh_reused');
  assertError(t, await tryToken(vault, first.accessToken), { status: 401, code: 'invalid_token' });
});

test('a refresh token may come again for 10 s after its first use, and no longer', async (t) => {
  const first = await openSession(vault, account);
  await renew(t, first.refreshToken);
  await secondsAgo(first.refreshToken, 5);
  const second = await renew(t, first.refreshToken);
  await secondsAgo(first.refreshToken, 10.5);
  assertError(t, await refresh(vault, first.refreshToken), refused);
  assertError(t, await refresh(vault, second.refreshToken), refused);
});

test('repetitions do not extend the time in which they are possible', async (t) => {
  const first = await openSession(vault, account);
  await renew(t, first.refreshToken);
  await secondsAgo(first.refreshToken, 8);
  await renew(t, first.refreshToken);
  const [row] = await sql(
    `select now() - previous_used_at > interval '7 seconds' as old from login_sessions
     where previous_hash = decode($1, 'hex')`,
    [hashOf(first.refreshToken)],
  );
  t.deepEqual(row, { old: true });
});

test('of 20 parallel uses of a refresh token one successor is good', async (t) => {
  const first = await openSession(vault, account);
  const answers = await Promise.all(Array.from({ length: 20 }, () => renew(t, first.refreshToken)));
  const good = await goodToken(first);
  const pairs = answers.filter(({ refreshToken }) => hashOf(refreshToken) === good);
  t.is(pairs.length, 1);
  const next = await renew(t, pairs[0]?.refreshToken ?? '');
  t.is((await tryToken(vault, next.accessToken)).status, 200);
  const other = answers.find((pair) => !pairs.includes(pair));
  assertError(t, await refresh(vault, other?.refreshToken ?? ''), refused);
  t.is(await goodToken(first), hashOf(next.refreshToken), 'it is of an ended session');
  assertError(t, await refresh(vault, next.refreshToken), refused);
});

test('a chain of refreshes whose every response is lost once does not break', async (t) => {
  const first = await openSession(vault, account);
  let pair: TokenPair = first;
  for (let round = 0; round < 5; round += 1) {
    await renew(t, pair.refreshToken);
    pair = await renew(t, pair.refreshToken);
    t.is(await goodToken(first), hashOf(pair.refreshToken));
  }
  t.is((await tryToken(vault, pair.accessToken)).status, 200);
});

test('a session that was ended in between stays ended', async (t) => {
  const first = await openSession(vault, account);
  await renew(t, first.refreshToken);
  await sql('update login_sessions set revoked_at = now() where id = $1', [
    sessionIdOf(first.accessToken),
  ]);
  assertError(t, await refresh(vault, first.refreshToken), refused);
});

test('two replicas that refresh with one token leave one good successor', async (t) => {
  const { databases, config } = vault;
  const replica = await startReadyVault({
    DATABASE_URL: databases.app,
    DATABASE_SERVICE_URL: databases.service,
    STORAGE_DIRECTORY: 'directory' in config.storage ? config.storage.directory : '',
  });
  t.teardown(() => replica.stop());
  for (let round = 0; round < 5; round += 1) {
    const first = await openSession(vault, account);
    const answers = await Promise.all(
      [vault, replica, vault, replica].map((one) => refresh(one, first.refreshToken)),
    );
    t.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]));
    const good = await goodToken(first);
    const tokens = answers.map(({ body }) => (body as TokenPair).refreshToken);
    t.is(tokens.filter((token) => hashOf(token) === good).length, 1);
  }
});

test('refreshes of one account are limited, each of them being recorded', async (t) => {
  const strict = await startReadyVault({ LIMITS_REFRESH_ACCOUNT: '3/1h' });
  t.teardown(() => strict.stop());
  const [owner, other] = [await createAccount(strict), await createAccount(strict)];
  let pair: TokenPair = await openSession(strict, owner);
  for (let round = 0; round < 3; round += 1) {
    pair = (await refresh(strict, pair.refreshToken)).body as TokenPair;
  }
  const limited = await refresh(strict, pair.refreshToken);
  assertError(t, limited, { status: 429, code: 'rate_limited' });
  t.true(Number(limited.headers.get('retry-after')) > 0);
  const fresh = await openSession(strict, other);
  t.is((await refresh(strict, fresh.refreshToken)).status, 200);
});
