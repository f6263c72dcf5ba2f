import { randomUUID } from 'node:crypto';
import test from 'ava';
import { v7 as uuidv7 } from 'uuid';
import { openDatabase } from '../../app/db/database.ts';
import { findRuns } from '../../app/maintenance/records/recorded-runs.ts';
import { keptRuns } from '../../app/maintenance/records/old-runs.ts';
import { createRunRecords } from '../../app/maintenance/records/run-records.ts';
import { createSql } from '../support/vault/sql.ts';
import { startReadyVault } from '../support/vault/vault.ts';

test('1,000 runs of a task are kept, with its last success and the runs that last', async (t) => {
  const vault = await startReadyVault();
  t.teardown(() => vault.stop());
  const sql = createSql(vault);
  const db = await openDatabase({ ...vault.config.database, checksLocks: true });
  t.teardown(() => db.close());
  const task = randomUUID();
  /** Inserts runs that began `minutesAgo`, so that their ids sort by it. */
  const insert = (count: number, minutesAgo: number, columns: Record<string, unknown>) =>
    sql(
      `insert into maintenance_runs (id, task, dry_run, requested_by, started_at, held_until,
         ended_at, error)
       select uuidv7(make_interval(mins => -($2::int))), $3, coalesce(r.dry_run, false), 'test',
         now(), r.held_until, case when r.held_until is null then now() end, r.error
       from generate_series(1, $1),
         json_populate_record(null::maintenance_runs, $4) r
       returning id`,
      [count, minutesAgo, task, JSON.stringify(columns)],
    );
  const future = new Date(Date.now() + 3_600_000);
  const past = new Date(Date.now() - 3_600_000);
  await insert(100, 900, {});
  const [success] = await insert(1, 800, {});
  const [running] = await insert(1, 700, { held_until: future });
  await insert(1, 600, { held_until: past });
  await insert(100, 500, { error: 'internal_error' });
  const [lastReal] = await insert(1, 400, { error: 'internal_error' });
  await insert(keptRuns + 50, 300, { dry_run: true });
  const [other] = await sql(
    `insert into maintenance_runs (id, task, dry_run, requested_by, started_at, ended_at)
     values ($1, 'other', false, 'test', now(), now()) returning id`,
    [uuidv7({ msecs: 1 })],
  );

  const work = { task, dryRun: true, requestedBy: 'test', nothing: {} };
  const { id } = await createRunRecords({ db, clock: () => new Date() }).record(
    work,
    async () => undefined,
  );

  const rows = await sql('select id from maintenance_runs where task = $1 order by id desc', [
    task,
  ]);
  const ids = rows.map((row) => row['id']);
  t.is(ids[0], id);
  t.deepEqual(ids.slice(keptRuns), [lastReal?.['id'], running?.['id'], success?.['id']]);
  const found = await db.asService((tx) => findRuns(tx, task));
  t.is(found.lastSuccess?.id, String(success?.['id']));
  t.is(found.lastRun?.id, String(lastReal?.['id']));
  t.is((await sql('select id from maintenance_runs where id = $1', [other?.['id']])).length, 1);
});
