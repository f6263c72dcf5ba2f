import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { v7 as uuidv7 } from 'uuid';
import { createIsolationCheck } from '../../../app/db/isolation/check.ts';
import { openDatabase } from '../../../app/db/database.ts';
import { defaultRoles } from '../../../app/db/columns/roles.ts';
import { AppError } from '../../../app/errors/app-error.ts';
import { untilSealed } from '../../support/accounts/purge-vault.ts';
import { connectAs } from '../../support/accounts/two-tenants.ts';
import { eventOf, openTrail } from '../../support/audit/entries.ts';
import { send } from '../../support/http/send.ts';
import { serviceRequest } from '../../support/http/service-request.ts';
import {
  startMaintenanceVault,
  type MaintenanceVault,
} from '../../support/vault/maintenance-vault.ts';
import { appending } from '../../support/audit/log-rows.ts';

const monthMs = 31 * 86_400_000;

async function startScene(t: ExecutionContext) {
  const context = await startMaintenanceVault();
  t.teardown(() => context.stop());
  const trail = await openTrail(context.vault);
  t.teardown(() => trail.close());
  /** Appends an entry whose id is of a time. */
  const append = (time: number) => {
    const entryId = uuidv7({ msecs: time });
    return trail.db.asUser(trail.owner, (tx) =>
      trail.trail.append(tx, eventOf(trail.owner, randomUUID(), { entryId })),
    );
  };
  return { ...context, append };
}

/** Returns the name of the partition of a month from the present one, and its first millisecond. */
function monthFromNow(months: number) {
  const now = new Date();
  const first = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1));
  return { suffix: first.toISOString().slice(0, 7).replace('-', '_'), time: first.getTime() };
}

async function dropMonth({ sql }: Pick<MaintenanceVault, 'sql'>, months: number): Promise<void> {
  const { suffix } = monthFromNow(months);
  await sql(`drop table audit_log_${suffix}, audit_seals_${suffix}`);
}

async function alertsOf({ vault }: MaintenanceVault) {
  const alerts = await vault.services.dlq.alerts(serviceRequest({ internalKey: 'test' }));
  return alerts.filter(({ code }) => code === 'partitions_few').map(({ value }) => value);
}

async function monthsAhead({ vault, keys }: MaintenanceVault): Promise<unknown> {
  const headers = { 'X-Internal-Api-Key': keys.admin };
  const { body } = await send('GET', `${vault.baseUrl}/v1/internal/maintenance`, { headers });
  return (body as { readonly partitions: { readonly monthsAhead: number } }).partitions.monthsAhead;
}

test('entry and seal of the last millisecond of a month are apart from the next', async (t) => {
  const { sql, append } = await startScene(t);
  const { suffix, time } = monthFromNow(1);
  const before = monthFromNow(0).suffix;
  const [last, first] = [await append(time - 1), await append(time)];
  await untilSealed(sql);
  for (const [id, month] of [
    [last, before],
    [first, suffix],
  ]) {
    t.deepEqual(
      await sql('select tableoid::regclass::text as "in" from audit_log where id = $1', [id]),
      [{ in: `audit_log_${month}` }],
    );
    t.deepEqual(
      await sql('select tableoid::regclass::text as "in" from audit_seals where entry_id = $1', [
        id,
      ]),
      [{ in: `audit_seals_${month}` }],
    );
  }
});

test('a number of a resource is used once in a partition', async (t) => {
  const { sql } = await startScene(t);
  const insert = (userId: string) =>
    sql(appending(`values (uuidv7(), $1, 'default', 'upload', 'a', 1, 'upload.created', '{}')`), [
      userId,
    ]);
  const userId = randomUUID();
  await insert(userId);
  await t.throwsAsync(insert(userId), { message: /duplicate key.*_seq/ });
  await t.notThrowsAsync(insert(randomUUID()));
});

test('verify-log makes what a year lacks, and an alert tells if few months are left', async (t) => {
  const context = await startScene(t);
  const { counts } = context;
  t.deepEqual([await monthsAhead(context), await alertsOf(context)], [12, []]);
  await dropMonth(context, 4);
  t.deepEqual([await monthsAhead(context), await alertsOf(context)], [3, []]);
  await dropMonth(context, 3);
  await dropMonth(context, 12);
  t.deepEqual([await monthsAhead(context), await alertsOf(context)], [2, [2]]);
  t.like(await counts('verify-log', '?dryRun=true'), { madePartitions: 6 });
  t.deepEqual([await monthsAhead(context), await alertsOf(context)], [2, [2]]);
  t.like(await counts('verify-log'), { madePartitions: 6 });
  t.deepEqual([await monthsAhead(context), await alertsOf(context)], [12, []]);
  t.like(await counts('verify-log'), { madePartitions: 0 });
});

test('without a partition an entry is refused with the remedy, until it is made', async (t) => {
  const context = await startScene(t);
  const { append, counts } = context;
  const { time } = monthFromNow(2);
  await dropMonth(context, 2);
  const error = await t.throwsAsync(append(time), { instanceOf: AppError });
  t.is(error.code, 'database_unavailable');
  t.regex((error.cause as Error).message, /lacks the partition .* run verify-log/);
  await counts('verify-log');
  await t.notThrowsAsync(append(time));
  await t.throwsAsync(append(time + 24 * monthMs), { message: error.message });
});

test('the function of the owner does nothing else, whatever the settings', async (t) => {
  const context = await startScene(t);
  const { vault, sql } = context;
  const [app, service] = await Promise.all([
    connectAs(vault.databases.app),
    connectAs(vault.databases.service),
  ]);
  t.teardown(() => Promise.all([app.end(), service.end()]));
  await dropMonth(context, 5);
  for (const call of ['make_audit_partitions()', "make_audit_month('2030-01-01')"]) {
    await t.throwsAsync(app.query(`select ${call}`), { message: /permission denied/ }, call);
  }
  await t.throwsAsync(service.query("select make_audit_month('2030-01-01')"), {
    message: /permission denied/,
  });
  await service.query('begin');
  await service.query("set local search_path = public; set local timezone = 'Pacific/Kiritimati'");
  await service.query("set local datestyle = 'German'; set local lc_time = 'C'");
  const { rows } = await service.query('select make_audit_partitions() as made');
  await service.query('commit');
  t.deepEqual(rows, [{ made: 2 }]);
  const { suffix, time } = monthFromNow(5);
  const bound = (ms: number) => {
    const digits = ms.toString(16).padStart(12, '0');
    return `'${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000'`;
  };
  const [made] = await sql(
    `select pg_get_expr(relpartbound, oid) as bound, relowner::regrole::text as owner,
       relrowsecurity and relforcerowsecurity as "isForced"
     from pg_class where relname = $1`,
    [`audit_log_${suffix}`],
  );
  const [parent] = await sql(
    `select relowner::regrole::text as owner from pg_class where relname = 'audit_log'`,
  );
  t.deepEqual(made, {
    bound: `FOR VALUES FROM (${bound(time)}) TO (${bound(monthFromNow(6).time)})`,
    owner: parent?.['owner'],
    isForced: true,
  });
  for (const client of [app, service]) {
    for (const table of [`audit_log_${suffix}`, `audit_seals_${suffix}`]) {
      for (const statement of [
        `select from ${table}`,
        `delete from ${table}`,
        `drop table ${table}`,
      ]) {
        await t.throwsAsync(client.query(statement), {
          message: /permission denied|must be owner/,
        });
      }
    }
  }
});

test('a partition without forced row-level security breaks the isolation', async (t) => {
  const { vault, sql } = await startScene(t);
  const { suffix } = monthFromNow(7);
  const table = `audit_seals_${suffix}`;
  const db = await openDatabase({ ...vault.config.database, poolSize: 1 });
  t.teardown(() => db.close());
  const check = createIsolationCheck(db, defaultRoles);
  t.is(await check(), undefined);
  await sql(`alter table ${table} no force row level security`);
  t.regex((await check())?.text ?? '', new RegExp(`row-level security of ${table} is lax`));
  await sql(`alter table ${table} force row level security`);
  await sql(`grant select on ${table} to probatio_app`);
  t.regex((await check())?.text ?? '', new RegExp(`has rights on ${table}`));
});
