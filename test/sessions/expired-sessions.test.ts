import test from 'ava';
import { removeExpiredSessions } from '../../app/sessions/kept-sessions.ts';
import { openDatabase } from '../../app/db/database.ts';
import { untilWaiting } from '../support/accounts/paused-statement.ts';
import { createAccount, openSession } from '../support/accounts/test-account.ts';
import { connectAs } from '../support/accounts/two-tenants.ts';
import { assertError } from '../support/http/error-body.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault } from '../support/vault/vault.ts';
import { refresh, sessionIdOf, tryToken } from '../support/accounts/sessions.ts';

const dayMs = 86_400_000;

test('expired login sessions are removed with their refresh tokens, and no others', async (t) => {
  const vault = await startReadyVault();
  const db = await openDatabase(vault.config.database);
  t.teardown(async () => {
    await db.close();
    await vault.stop();
  });
  const sql = createSql(vault);
  const account = await createAccount(vault);
  const [old, living] = [await openSession(vault, account), await openSession(vault, account)];
  const next = (await refresh(vault, living.refreshToken)).body as typeof living;
  await sql(
    "update login_sessions set expires_at = expires_at - interval '31 days' where id = $1",
    [sessionIdOf(old.accessToken)],
  );

  // The old login session ended a day ago and is kept for 30 days.
  const removeIn = (days: number) =>
    db.asService((tx) => removeExpiredSessions(tx, new Date(Date.now() + days * dayMs), 100));
  t.is(await removeIn(28), 0);
  t.is(await removeIn(30), 1);
  t.is(await removeIn(30), 0);
  t.deepEqual(await sql('select id from login_sessions'), [
    { id: sessionIdOf(living.accessToken) },
  ]);
  t.is((await refresh(vault, next.refreshToken)).status, 200);
  t.is((await tryToken(vault, next.accessToken)).status, 200);
  const refused = { status: 401, code: 'invalid_refresh_token' };
  assertError(t, await refresh(vault, old.refreshToken), refused);
});

test('a refresh token used while its session is being removed is refused', async (t) => {
  const vault = await startReadyVault();
  const db = await openDatabase(vault.config.database);
  const holder = await connectAs(vault.databases.admin);
  t.teardown(async () => {
    await holder.end();
    await db.close();
    await vault.stop();
  });
  const { accessToken, refreshToken } = await openSession(vault, await createAccount(vault));
  const id = sessionIdOf(accessToken);
  const expire = `set expires_at = now() - interval '31 days'`;
  await createSql(vault)(`update login_sessions ${expire} where id = $1`, [id]);
  await holder.query('begin');
  await holder.query('select 1 from login_sessions where id = $1 for update', [id]);
  const remove = () => db.asService((tx) => removeExpiredSessions(tx, new Date(), 100));
  t.is(await remove(), 0, 'a session in use is left to the next run');
  await holder.query('delete from login_sessions where id = $1', [id]);
  const refreshing = refresh(vault, refreshToken);
  await untilWaiting(vault, 1);
  await holder.query('commit');
  t.is(await remove(), 0);
  assertError(t, await refreshing, { status: 401, code: 'invalid_refresh_token' });
});
