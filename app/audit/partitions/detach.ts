import type { Client } from 'pg';
import type { Month } from '../../audit-trail/archived-months.ts';
import { inTransaction, patienceMs, untilLocked } from '../../db/migrating/locks.ts';
import {
  lockArchive,
  PartitionRefusal,
  recordDetached,
  recordNote,
  type ArchivedMonth,
} from './archive-rows.ts';
import { tablesOf, type MonthTables } from './month-tables.ts';
import { noteRows, type RowsNote } from './row-digest.ts';

/** The tables that the owner reads, in the order in which they are locked. */
const read = ['audit_log', 'audit_seals', 'audit_queue', 'audit_dead_letters'] as const;

/**
 * Takes a past month out of the log: both of its partitions in one transaction, which asks for its
 * locks for half a second at a time, and then notes what their rows are. Resolves with the note and
 * whether the month was away before. If it is killed, the next call goes on. Throws
 * PartitionRefusal if an entry of the month waits for its seal or no later entry is sealed.
 */
export async function detachMonth(
  client: Client,
  month: Month,
  patience = patienceMs,
): Promise<{ readonly note: RowsNote; readonly wasAway: boolean }> {
  const tables = tablesOf(month);
  const before = await untilLocked(patience, () =>
    inTransaction(client, async () => {
      const archive = await lockArchive(client, month);
      if (archive !== undefined && archive.state !== 'ATTACHED') return archive;
      await detach(client, tables);
      return undefined;
    }),
  );
  if (before?.note !== undefined) return { note: before.note, wasAway: true };
  const note = await noteDetached(client, tables, before);
  await recordNote(client, month, note);
  return { note, wasAway: false };
}

async function detach(client: Client, tables: MonthTables): Promise<void> {
  const { month, log, seals } = tables;
  // An erasure holds a weaker lock of the first table until it ends, and later ones see the month.
  await client.query('lock table audit_archive_erasures in share row exclusive mode');
  await client.query(`lock table ${read.join(', ')} in access exclusive mode`);
  await assertAttached(client, tables);
  for (const table of read) await client.query(`alter table ${table} no force row level security`);
  await assertSealed(client, tables);
  for (const table of read) await client.query(`alter table ${table} force row level security`);
  await client.query(`alter table audit_log detach partition ${log}`);
  await client.query(`alter table audit_seals detach partition ${seals}`);
  // The owner, who archives them, could not read them otherwise; the logins have no rights on them.
  await client.query(`alter table ${log} no force row level security`);
  await client.query(`alter table ${seals} no force row level security`);
  await recordDetached(client, month);
}

async function assertAttached(client: Client, { month, log, seals }: MonthTables): Promise<void> {
  const { rows } = await client.query<{ readonly attached: number }>(
    `select count(*)::int as attached from pg_inherits
     where (inhparent, inhrelid) in (('audit_log'::regclass, to_regclass($1)),
       ('audit_seals'::regclass, to_regclass($2)))`,
    [log, seals],
  );
  if (rows[0]?.attached === 2) return;
  throw new PartitionRefusal(`the log has no partitions of ${month}`);
}

async function assertSealed(client: Client, { month, firstId, endId }: MonthTables): Promise<void> {
  const { rows } = await client.query<Record<'waiting' | 'dead' | 'isNewest', boolean>>(
    `select exists (select from audit_queue where entry_id >= $1 and entry_id < $2) as waiting,
       exists (select from audit_dead_letters
         where entry_id >= $1 and entry_id < $2 and status = 'PENDING') as dead,
       not exists (select from audit_seals where entry_id >= $2) as "isNewest"`,
    [firstId, endId],
  );
  const { waiting, dead, isNewest } = rows[0] ?? {};
  if (waiting === true) throw new PartitionRefusal(`entries of ${month} wait for their seals`);
  if (dead === true) {
    throw new PartitionRefusal(`entries of ${month} are in the dead-letter queue: see docs/dlq.md`);
  }
  if (isNewest !== false) {
    throw new PartitionRefusal(`${month} has the newest sealed entry, which may not leave the log`);
  }
}

async function noteDetached(
  client: Client,
  tables: MonthTables,
  before: ArchivedMonth | undefined,
): Promise<RowsNote> {
  if (before !== undefined && !(await hasTables(client, tables))) {
    const { month, log, seals } = tables;
    throw new PartitionRefusal(
      `${month} has left, but its rows are not noted, and ${log} and ${seals} are gone: ` +
        'restore both tables, and call probatio partitions detach again',
    );
  }
  return noteRows(client, tables);
}

/** Returns whether the database has both tables of a month, attached or not. */
export async function hasTables(client: Client, { log, seals }: MonthTables): Promise<boolean> {
  const { rows } = await client.query<{ readonly found: boolean }>(
    'select to_regclass($1) is not null and to_regclass($2) is not null as found',
    [`public.${log}`, `public.${seals}`],
  );
  return rows[0]?.found === true;
}
