import test from 'ava';
import { openDatabase } from '../../app/db/database.ts';
import { removeEndedSessions } from '../../app/sessions/kept-sessions.ts';
import { entriesOf, logOut, refresh, sessionIdOf, tryToken } from '../support/accounts/sessions.ts';
import {
  beginLogin,
  createAccount,
  logIn,
  openSession,
  type TestAccount,
} from '../support/accounts/test-account.ts';
import { assertError } from '../support/http/error-body.ts';
import { postJson } from '../support/http/send.ts';
import { createSql, type Sql } from '../support/vault/sql.ts';
import { startReadyVault, type TestVault } from '../support/vault/vault.ts';

let vault: TestVault;
let sql: Sql;

test.before(async () => {
  vault = await startReadyVault();
  sql = createSql(vault);
});
test.after.always(() => vault.stop());

/** Adds open sessions to an account that were used `days` and more days ago. */
const addSessions = ({ email }: TestAccount, count: number, days: number) =>
  sql(
    `insert into login_sessions (id, user_id, tenant_id, last_used_at, expires_at)
     select gen_random_uuid(), id, tenant_id, now() - make_interval(days => $3, mins => n),
       now() + interval '1 day'
     from accounts, generate_series(1, $2) n where email = $1`,
    [email, count, days],
  );

const openIds = async ({ email }: TestAccount) => {
  const rows = await sql(
    `select s.id from login_sessions s join accounts a on a.id = user_id
     where email = $1 and revoked_at is null`,
    [email],
  );
  return new Set(rows.map(({ id }) => String(id)));
};

test('a user has 100 open sessions: a login ends those that were used longest ago', async (t) => {
  const [account, other] = [await createAccount(vault), await createAccount(vault)];
  await openSession(vault, other);
  const oldest = await openSession(vault, account);
  const oldestId = sessionIdOf(oldest.accessToken);
  await sql(`update login_sessions set last_used_at = now() - interval '20 days' where id = $1`, [
    oldestId,
  ]);
  await addSessions(account, 98, 1);
  const hundredth = await openSession(vault, account);
  t.is((await openIds(account)).size, 100);
  t.is((await tryToken(vault, oldest.accessToken)).status, 200);

  const newest = await openSession(vault, account);
  const open = await openIds(account);
  t.is(open.size, 100);
  t.false(open.has(oldestId));
  t.true(open.has(sessionIdOf(newest.accessToken)));
  assertError(t, await tryToken(vault, oldest.accessToken), { status: 401, code: 'invalid_token' });
  t.is((await refresh(vault, oldest.refreshToken)).status, 401);
  for (const { accessToken, refreshToken } of [hundredth, newest]) {
    t.is((await tryToken(vault, accessToken)).status, 200);
    t.is((await refresh(vault, refreshToken)).status, 200);
  }
  const last = (await entriesOf(vault, oldestId)).at(-1);
  t.is(last?.action, 'auth.session_revoked');
  t.deepEqual(last?.data, { bySession: sessionIdOf(newest.accessToken) });
  t.is((await openIds(other)).size, 1);
});

test('concurrent logins beyond the limit all succeed, and the next makes it hold', async (t) => {
  const account = await createAccount(vault);
  await addSessions(account, 150, 1);
  const sessions = await Promise.all(Array.from({ length: 8 }, () => logIn(vault, account)));
  await logIn(vault, account);
  const open = await openIds(account);
  t.is(open.size, 100);
  for (const token of sessions) t.true(open.has(sessionIdOf(token)));
});

test('a session that was ended over a day ago is removed with its refresh tokens', async (t) => {
  const db = await openDatabase(vault.config.database);
  t.teardown(() => db.close());
  const account = await createAccount(vault);
  const [ended, open] = [await openSession(vault, account), await openSession(vault, account)];
  await logOut(vault, ended.accessToken);
  const removeIn = (hours: number) =>
    db.asService((tx) => removeEndedSessions(tx, new Date(Date.now() + hours * 3_600_000), 100));
  const ids = [ended, open].map(({ accessToken }) => sessionIdOf(accessToken));
  const kept = async () => {
    const rows = await sql('select id from login_sessions where id = any($1::uuid[]) order by id', [
      ids,
    ]);
    return new Set(rows.map(({ id }) => id));
  };
  await removeIn(23);
  t.deepEqual(await kept(), new Set(ids));
  await removeIn(25);
  t.deepEqual(await kept(), new Set([ids[1]]));
  const refused = { status: 401, code: 'invalid_refresh_token' };
  assertError(t, await refresh(vault, ended.refreshToken), refused);
  t.is((await refresh(vault, open.refreshToken)).status, 200);
});

test('logins of one account are limited; wrong proofs do not use the limit up', async (t) => {
  const strict = await startReadyVault({ LIMITS_LOGIN_ACCOUNT: '3/1h' });
  t.teardown(() => strict.stop());
  const [account, other] = [await createAccount(strict), await createAccount(strict)];
  const verify = async (M1?: string) => {
    const { sessionId, A, M1: right } = await beginLogin(strict, account);
    const json = { sessionId, A, M1: M1 ?? right };
    return postJson(`${strict.baseUrl}/v1/auth/login/verify`, json);
  };
  for (let time = 0; time < 5; time += 1) t.is((await verify('0'.repeat(64))).status, 401);
  for (let time = 0; time < 3; time += 1) t.is((await verify()).status, 200);
  const limited = await verify();
  assertError(t, limited, { status: 429, code: 'rate_limited' });
  t.true(Number(limited.headers.get('retry-after')) > 0);
  t.truthy(await logIn(strict, other));
});
