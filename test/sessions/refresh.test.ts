import { randomBytes } from 'node:crypto';
import test from 'ava';
import { decodeJwt } from 'jose';
import { createAccount, openSession, type TestAccount } from '../support/accounts/test-account.ts';
import { assertError } from '../support/http/error-body.ts';
import { postJson } from '../support/http/send.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { sharedVault } from '../support/vault/shared-vault.ts';
import type { Vault } from '../support/vault/vault.ts';
import {
  entriesOf,
  hashOf,
  logOut,
  refresh,
  replay,
  sessionIdOf,
  tryToken,
  type TokenPair,
} from '../support/accounts/sessions.ts';

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

test('a refresh returns exactly a new pair of tokens of the same session', async (t) => {
  const first = await openSession(vault, account);
  const { status, headers, body } = await refresh(vault, first.refreshToken);
  t.is(status, 200);
  t.is(headers.get('cache-control'), 'no-store');
  const { accessToken, refreshToken, ...rest } = body as TokenPair;
  t.deepEqual(rest, { tokenType: 'Bearer', expiresIn: 900 } as object);
  t.regex(refreshToken, /^prt_[A-Za-z0-9_-]{80}$/);
  t.not(refreshToken, first.refreshToken);
  t.is(sessionIdOf(accessToken), sessionIdOf(first.accessToken));
  t.not(decodeJwt(accessToken).jti, decodeJwt(first.accessToken).jti);
  t.is((await tryToken(vault, accessToken)).status, 200);
});

test('the refresh route has its alias', async (t) => {
  const { refreshToken } = await openSession(vault, account);
  const answer = await postJson(`${vault.baseUrl}/api/v1/auth/refresh`, { refreshToken });
  t.is(answer.status, 200);
});

test('a session continues from refresh to refresh, and each leaves an entry', async (t) => {
  let pair: TokenPair = await openSession(vault, account);
  const id = sessionIdOf(pair.accessToken);
  for (let round = 0; round < 3; round += 1) {
    pair = (await refresh(vault, pair.refreshToken)).body as TokenPair;
    t.is((await tryToken(vault, pair.accessToken)).status, 200);
  }
  const actions = (await entriesOf(vault, id)).map(({ action }) => action);
  t.deepEqual(actions, ['auth.login', ...Array<string>(3).fill('auth.refreshed')]);
});

test('a refresh extends the session', async (t) => {
  const { accessToken, refreshToken } = await openSession(vault, account);
  const id = sessionIdOf(accessToken);
  await sql(
    `update login_sessions set last_used_at = now() - interval '1 day',
       expires_at = now() + interval '29 days' where id = $1`,
    [id],
  );
  t.is((await refresh(vault, refreshToken)).status, 200);
  const [row] = await sql(
    `select extract(epoch from expires_at - last_used_at)::int as life,
       now() - last_used_at < interval '1 minute' as now
     from login_sessions where id = $1`,
    [id],
  );
  t.deepEqual(row, { life: 30 * 86_400, now: true });
});

/** Lets the time pass in which a used refresh token may come again. */
async function outlastRepetition(refreshToken: string): Promise<void> {
  await sql(
    `update login_sessions set previous_used_at = previous_used_at - interval '10.001 seconds'
     where previous_hash = decode($1, 'hex')`,
    [hashOf(refreshToken)],
  );
}

test('a used refresh token is refused and revokes its session with the new pair', async (t) => {
  const first = await openSession(vault, account);
  const second = (await refresh(vault, first.refreshToken)).body as TokenPair;
  await outlastRepetition(first.refreshToken);
  assertError(t, await refresh(vault, first.refreshToken), refused);
  assertError(t, await refresh(vault, second.refreshToken), refused);
  assertError(t, await tryToken(vault, second.accessToken), invalidToken);
  assertError(t, await tryToken(vault, first.accessToken), invalidToken);
});

test('replays of a used refresh token end and record the session once', async (t) => {
  const { accessToken, refreshToken } = await openSession(vault, account);
  await refresh(vault, refreshToken);
  await outlastRepetition(refreshToken);
  for (let round = 0; round < 3; round += 1) await refresh(vault, refreshToken);
  const entries = await entriesOf(vault, sessionIdOf(accessToken));
  t.deepEqual(
    entries.map(({ action, outcome }) => [action, outcome]),
    [
      ['auth.login', 'success'],
      ['auth.refreshed', 'success'],
      ['auth.refresh_reused', 'failure'],
    ],
  );
  t.deepEqual(entries.at(-1)?.actor, { type: 'anonymous', id: null });
});

test('the end of one session leaves the others open', async (t) => {
  const [one, other] = [await openSession(vault, account), await openSession(vault, account)];
  assertError(t, await replay(vault, one.refreshToken), refused);
  t.is((await tryToken(vault, other.accessToken)).status, 200);
  t.is((await refresh(vault, other.refreshToken)).status, 200);
});

test('unknown, expired and revoked refresh tokens get the same refusal', async (t) => {
  const expired = await openSession(vault, account);
  await sql('update login_sessions set expires_at = now() where id = $1', [
    sessionIdOf(expired.accessToken),
  ]);
  const revoked = await openSession(vault, account);
  await logOut(vault, revoked.accessToken);
  const other = await createAccount(vault);
  const closed = await openSession(vault, other);
  await sql(
    `update accounts set status = 'CLOSED', email = null, closed_at = now() where email = $1`,
    [other.email],
  );
  const moved = await createAccount(vault);
  const elsewhere = await openSession(vault, moved);
  await sql(`update accounts set tenant_id = 'another' where email = $1`, [moved.email]);

  const tokens = {
    'a random one': `prt_${randomBytes(60).toString('base64url')}`,
    'one of the form of earlier releases': `prt_${randomBytes(32).toString('base64url')}`,
    'an empty one': '',
    'no token at all': 'jam',
    'an access token': expired.accessToken.slice(0, 256),
    'an expired one': expired.refreshToken,
    'one of a revoked session': revoked.refreshToken,
    'one of a closed account': closed.refreshToken,
    'one of an account that moved to another tenant': elsewhere.refreshToken,
    'its hash': hashOf(revoked.refreshToken),
  };
  const messages = new Set<string>();
  for (const [what, token] of Object.entries(tokens)) {
    const answer = await refresh(vault, token);
    messages.add(assertError(t, answer, refused, what).message);
  }
  t.is(messages.size, 1);
});

test('a new access token has the current rights of the account', async (t) => {
  const promoted = await createAccount(vault);
  const { refreshToken } = await openSession(vault, promoted);
  await sql(
    `update accounts set roles = '{user,auditor}', scopes = '{audit:read}', plan = 'large'
     where email = $1`,
    [promoted.email],
  );
  const { accessToken } = (await refresh(vault, refreshToken)).body as TokenPair;
  const { authz, plan } = decodeJwt(accessToken);
  t.deepEqual(authz, { roles: ['user', 'auditor'], scopes: ['audit:read'] });
  t.is(plan, 'large');
});

test('the database stores only the hashes of two refresh tokens of a session', async (t) => {
  const first = await openSession(vault, account);
  const second = (await refresh(vault, first.refreshToken)).body as TokenPair;
  const third = (await refresh(vault, second.refreshToken)).body as TokenPair;
  const rows = await sql(
    `select refresh_generation as generation, encode(refresh_hash, 'hex') as good,
       encode(previous_hash, 'hex') as previous
     from login_sessions where id = $1`,
    [sessionIdOf(first.accessToken)],
  );
  const [good, previous] = [hashOf(third.refreshToken), hashOf(second.refreshToken)];
  t.deepEqual(rows, [{ generation: 3, good, previous }]);
  for (const table of ['login_sessions', 'audit_log', 'outbox']) {
    const texts = await sql(`select to_json(x)::text as row from ${table} x`);
    for (const { row } of texts) t.false(String(row).includes('prt_'), table);
  }
});

test('requests that do not match their schema are refused', async (t) => {
  const { refreshToken } = await openSession(vault, account);
  for (const body of [
    {},
    { refreshToken: null },
    { refreshToken: [refreshToken] },
    { refreshToken: 'a'.repeat(257) },
    { refreshToken, token: 1 },
  ]) {
    const answer = await postJson(`${vault.baseUrl}/v1/auth/refresh`, body);
    assertError(t, answer, { status: 400, code: 'validation_failed' }, JSON.stringify(body));
  }
  t.is((await refresh(vault, refreshToken)).status, 200, 'the refusals used up no token');
});
