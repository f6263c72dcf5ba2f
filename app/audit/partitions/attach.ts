import type { Client } from 'pg';
import type { Month } from '../../audit-trail/archived-months.ts';
import type { DatabaseRoles } from '../../db/columns/roles.ts';
import { inTransaction, patienceMs, untilLocked } from '../../db/migrating/locks.ts';
import {
  lockArchive,
  PartitionRefusal,
  recordAttached,
  type ArchivedMonth,
} from './archive-rows.ts';
import { hasTables } from './detach.ts';
import { tablesOf, type MonthTables } from './month-tables.ts';
import { takeParentShape } from './parent-shape.ts';
import { isSameNote, noteRows } from './row-digest.ts';

/** Milliseconds for which locks are awaited that no request waits behind. */
const quietLockMs = 60_000;

interface AttachOptions {
  readonly roles: DatabaseRoles;
  /** Milliseconds for which the locks are asked for; ten minutes by default. */
  readonly patience?: number;
}

/**
 * Makes a month part of the log again, in one transaction: compares its rows with what was noted
 * when it left, carries out the erasures that became due meanwhile, and attaches both tables.
 * Resolves with the number of erased entries; undefined if the month is attached already. Throws
 * PartitionRefusal if the tables are missing, are not those of a month or have other rows.
 */
export function attachMonth(
  client: Client,
  month: Month,
  { roles, patience = patienceMs }: AttachOptions,
): Promise<number | undefined> {
  const tables = tablesOf(month);
  return untilLocked(patience, () =>
    inTransaction(client, async () => {
      const archive = await lockArchive(client, month);
      if (archive === undefined) throw new PartitionRefusal(`${month} has never left the log`);
      if (archive.state === 'ATTACHED') return undefined;
      await assertUnchanged(client, tables, archive);
      // Erasures hold a weaker lock until they end; others than them do not wait for this one.
      await client.query(`set local lock_timeout = ${quietLockMs}`);
      await client.query('lock table audit_archive_erasures in share row exclusive mode');
      const erased = await erase(client, tables);
      await attach(client, tables, roles);
      await recordAttached(client, month);
      return erased;
    }),
  );
}

async function assertUnchanged(
  client: Client,
  tables: MonthTables,
  { month, note }: ArchivedMonth,
): Promise<void> {
  const { log, seals } = tables;
  if (note === undefined) {
    throw new PartitionRefusal(
      `the rows of ${month} are not noted: call probatio partitions detach ${month} again first`,
    );
  }
  if (!(await hasTables(client, tables))) {
    throw new PartitionRefusal(`${month} is away: restore the tables ${log} and ${seals} first`);
  }
  await client.query(`lock table ${log}, ${seals} in access exclusive mode`);
  await client.query(`alter table ${log} no force row level security`);
  await client.query(`alter table ${seals} no force row level security`);
  await assertPlain(client, tables);
  const found = await noteRows(client, tables);
  if (isSameNote(found, note)) return;
  throw new PartitionRefusal(
    `${log} and ${seals} have other rows than those that left: ${note.entries} entries and ` +
      `${note.seals} seals were noted, and there are ${found.entries} and ${found.seals}; ` +
      'restore them from the archive',
  );
}

/** Refuses tables that would bring something else than rows into the log. */
async function assertPlain(client: Client, { log, seals }: MonthTables): Promise<void> {
  const { rows } = await client.query<{ readonly name: string }>(
    `select c.relname::text as name from pg_class c
     where c.oid in ($1::regclass, $2::regclass) and (c.relkind <> 'r' or c.relhasrules
       or exists (select from pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal)
       or exists (select from pg_policy p where p.polrelid = c.oid))`,
    [`public.${log}`, `public.${seals}`],
  );
  const [strange] = rows;
  if (strange === undefined) return;
  throw new PartitionRefusal(
    `${strange.name} is no plain table, or has triggers, rules or policies: restore it anew`,
  );
}

/** Erases the texts of entries whose owners were purged while the month was away. */
async function erase(client: Client, { month, log }: MonthTables): Promise<number> {
  const { rowCount } = await client.query(
    `update ${log} as entry set canonical = null, erased_at = due.recorded_at
     from audit_archive_erasures due
     where due.month = $1 and entry.user_id = due.user_id and entry.erased_at is null`,
    [month],
  );
  await client.query('delete from audit_archive_erasures where month = $1', [month]);
  return rowCount ?? 0;
}

async function attach(
  client: Client,
  { log, seals, firstId, endId }: MonthTables,
  { app, service }: DatabaseRoles,
): Promise<void> {
  for (const [parent, table, key] of [
    ['audit_log', log, 'id'],
    ['audit_seals', seals, 'entry_id'],
  ] as const) {
    await takeParentShape(client, parent, table);
    const bounds = `check (${key} >= '${firstId}' and ${key} < '${endId}')`;
    await addConstraint(client, table, 'month', bounds);
    if (table === log) {
      await client.query(`alter table ${log} alter column user_id set statistics 0`);
      await addConstraint(client, table, 'seq', 'unique (trail_id, seq)');
    }
    await client.query(
      `alter table ${table} set (autovacuum_vacuum_insert_threshold = 100000,
         autovacuum_vacuum_insert_scale_factor = 0);
       alter table ${table} enable row level security;
       alter table ${table} force row level security;
       revoke all on ${table} from public, ${app}, ${service};
       alter table ${parent} attach partition ${table}
         for values from ('${firstId}') to ('${endId}')`,
    );
  }
}

/** Adds a constraint to the table of a month, unless it has it: a restored one may lack it. */
async function addConstraint(
  client: Client,
  table: string,
  name: string,
  definition: string,
): Promise<void> {
  const { rowCount } = await client.query(
    'select from pg_constraint where conrelid = $1::regclass and conname = $2',
    [`public.${table}`, `${table}_${name}`],
  );
  if (rowCount !== 0) return;
  await client.query(`alter table ${table} add constraint ${table}_${name} ${definition}`);
}
