import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { describeFailure } from '../../../app/db/migrating/migration-failure.ts';
import { complete, described, emptyDatabase, plans, run } from './plans.ts';

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing failed',
    (error: unknown) => describeFailure(error),
  );

test('of several processes one migrates, and the others wait and find nothing to do', async (t) => {
  const { urls, admin } = await emptyDatabase(t);
  const ran = await Promise.all(Array.from({ length: 4 }, () => run(urls.owner)));
  t.deepEqual(
    ran.filter(({ length }) => length > 0),
    [complete.ran],
  );
  t.deepEqual((await admin.query(described)).rows, [complete]);
});

test('requests go on while a migration waits for a lock', async (t) => {
  const { urls, admin } = await emptyDatabase(t);
  await run(urls.owner, plans.slice(0, 2));
  const holder = await connectAs(urls.admin);
  t.teardown(() => holder.end());
  await holder.query('begin; select from things');
  const running = run(urls.owner);
  const observer = await connectAs(urls.admin);
  t.teardown(() => observer.end());
  const isWaiting = async () => {
    const { rows } = await observer.query<{ waits: boolean }>(
      `select exists (select from pg_locks
         where not granted and relation = 'things'::regclass) as waits`,
    );
    return rows[0]?.waits === true;
  };
  for (let time = 0; time < 2; time += 1) {
    await until(isWaiting, { what: 'a migration that waits for its lock', timeoutMs: 60_000 });
    // The holder does not end, so that without a limit this read would wait for ever.
    t.is((await admin.query('select from things limit 1')).rowCount, 1);
  }
  await holder.query('commit');
  t.deepEqual(await running, ['columns']);
  t.deepEqual((await admin.query(described)).rows, [complete]);
});

test('a migration that never gets its lock fails, and says what to do', async (t) => {
  const { urls, admin } = await emptyDatabase(t);
  await run(urls.owner, plans.slice(0, 2));
  await admin.query('begin; select from things');
  const text = await failureOf(run(urls.owner, plans, 0));
  t.regex(text, /^columns failed[^\n]*: a lock was not to be had [^\n]*pg_stat_activity[^\n]*$/);
  await admin.query('rollback');
  t.deepEqual(await run(urls.owner), ['columns']);
});

test('an index that was left half built is built anew', async (t) => {
  const { urls, admin } = await emptyDatabase(t);
  await run(urls.owner, plans.slice(0, 1));
  await admin.query("update things set name = 'one name' where id <= 2");
  t.regex(await failureOf(run(urls.owner)), /^indexes failed/);
  const validity = "select indisvalid from pg_index where indexrelid = 'things_name'::regclass";
  t.deepEqual((await admin.query(validity)).rows, [{ indisvalid: false }]);
  await admin.query("update things set name = 'other' where id = 2");
  t.deepEqual(await run(urls.owner), ['indexes', 'columns']);
  t.deepEqual((await admin.query(described)).rows, [complete]);
});

test('the logins of the app may read the list of migrations, and nothing more of it', async (t) => {
  const { urls } = await emptyDatabase(t);
  await run(urls.owner);
  for (const url of [urls.app, urls.service]) {
    const client = await connectAs(url);
    t.teardown(() => client.end());
    t.is((await client.query('select name from migrations')).rowCount, plans.length);
    await t.throwsAsync(client.query('delete from migrations'), { message: /permission denied/ });
  }
});

test('a read-only database, and one without room, are told in one line', async (t) => {
  const { name, urls, admin } = await emptyDatabase(t);
  const full = {
    name: 'full',
    statements: [
      'create table half_done (id int)',
      "do $$ begin raise exception 'no space left on device' using errcode = '53100'; end $$",
    ],
    isTransactional: true,
  };
  t.regex(await failureOf(run(urls.owner, [full])), /^full failed[^\n]* has no room left[^\n]*$/);
  const { rows } = await admin.query("select to_regclass('half_done') as found");
  t.deepEqual(rows, [{ found: null }]);
  await admin.query(`alter database ${name} set default_transaction_read_only = on`);
  t.regex(await failureOf(run(urls.owner)), /^the database is read-only: name the primary[^\n]*$/);
});
