import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import test, { type ExecutionContext } from 'ava';
import { projectFile } from '../../../app/dev/files/project.ts';
import { createApi } from '../../support/documents/uploads.ts';
import { proofsOf, startAwayVault } from './away.ts';

/** Changes of the log as a later release makes them: expand.ts allows each. */
const migration = [
  'alter table audit_log add column remark text',
  'alter table audit_log add column weight int not null default 7',
  "alter table audit_log add constraint audit_log_remark check (remark <> '') not valid",
  'alter table audit_log validate constraint audit_log_remark',
  'create index audit_log_weight on audit_log (weight, id)',
  "alter table audit_seals add column place text default 'here'",
] as const;

/** Reads the names of columns that docs/partitions.md tells operators to copy. */
async function documented(table: 'log' | 'seals'): Promise<string> {
  const text = await readFile(projectFile('docs/partitions.md'), 'utf8');
  return new RegExp(`^${table}='(.*)'$`, 'm').exec(text)?.[1] ?? '';
}

/** Detaches a month with two entries, and migrates the log while it is away. */
async function migrateWhileAway(t: ExecutionContext) {
  const context = await startAwayVault(t);
  const { vault, partitions, month, append, newOwner, sql } = context;
  const resource = { type: 'upload', id: randomUUID() };
  const owner = newOwner();
  const ids = [await append(owner, resource, true), await append(owner, resource, true)];
  await append(owner, resource, false);
  await context.sealed();
  const auditor = await createApi(vault, { roles: ['auditor'] });
  const before = await proofsOf(auditor, ids);
  t.deepEqual(
    before.map(({ status }) => status),
    [200, 200],
  );
  t.is((await partitions('detach', month)).code, 0);
  for (const statement of migration) await sql(statement);
  return { ...context, auditor, ids, before };
}

test.serial(
  'a month takes the columns and checks that the log got while it was away',
  async (t) => {
    const { sql, partitions, month, log, auditor, ids, before } = await migrateWhileAway(t);
    const { code, stderr } = await partitions('attach', month);
    t.deepEqual([code, stderr], [0, '']);
    t.deepEqual(await proofsOf(auditor, ids), before);
    t.deepEqual(
      await sql(
        `select remark, weight, place from audit_log l
      join audit_seals s on s.entry_id = l.id where l.id = $1`,
        [ids[0]],
      ),
      [{ remark: null, weight: 7, place: 'here' }],
    );
    await t.throwsAsync(sql(`update ${log} set remark = '' where id = $1`, [ids[0]]), {
      message: /audit_log_remark/,
    });
  },
);

test.serial('the columns that are to be copied are all that the log has', async (t) => {
  const { sql } = await startAwayVault(t);
  for (const table of ['log', 'seals'] as const) {
    const [found] = await sql(
      `select string_agg(attname, ', ' order by attnum) as columns from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped`,
      [`audit_${table}`],
    );
    t.is(await documented(table), String(found?.['columns']));
  }
});

test.serial('files whose columns are named are read into a log that has more', async (t) => {
  const context = await migrateWhileAway(t);
  const { sql, partitions, month, log, seals, auditor, ids, before } = context;
  const [dir] = await sql("select current_setting('data_directory') as path");
  const columnsOf = { [log]: await documented('log'), [seals]: await documented('seals') };
  for (const [table, columns] of Object.entries(columnsOf)) {
    const file = `${String(dir?.['path'])}/${randomUUID()}.copy`;
    await sql(`copy ${table} (${columns}) to '${file}' (format binary)`);
    await sql(`drop table ${table}`);
    const parent = table === log ? 'audit_log' : 'audit_seals';
    await sql(`create table ${table} (like ${parent} including all)`);
    await sql(`alter table ${table} owner to probatio_owner`);
    await sql(`copy ${table} (${columns}) from '${file}' (format binary)`);
  }
  const { code, stderr } = await partitions('attach', month);
  t.deepEqual([code, stderr], [0, '']);
  t.deepEqual(await proofsOf(auditor, ids), before);
});
