import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { comparedColumns, type EntryRow } from '../sealing/row-comparison.ts';

/** A number of a trail, at which the log has an entry or should have one. */
export interface LogPlace {
  readonly trailId: number;
  readonly seq: number;
}

/** The row of an entry, and whether the log has the entry with the number before. */
export interface NumberedRow extends EntryRow, LogPlace {
  readonly hasPredecessor: boolean;
}

/** The last number of a trail, and whether the log has its entry. */
export interface LastPlace extends LogPlace {
  readonly hasLast: boolean;
}

// For each row an entry is looked up: for `exists` Postgres may read the whole log.
const hasPredecessor = sql<boolean>`audit_log.seq = 1 or (
  select earlier.seq from audit_log as earlier
  where earlier.trail_id = audit_log.trail_id and earlier.seq = audit_log.seq - 1 limit 1
) is not null`;
const hasLast = sql<boolean>`(
  select entry.seq from audit_log as entry
  where entry.trail_id = trail.id and entry.seq = trail.last_seq limit 1
) is not null`;

function selectRows(tx: Tx) {
  return tx
    .selectFrom('audit_log')
    .leftJoin('audit_trails', 'audit_trails.id', 'audit_log.trail_id')
    .select([...comparedColumns, 'audit_log.trail_id as trailId'])
    .select(hasPredecessor.as('hasPredecessor'));
}

/** Reads the entries of all users after `after`, in the order of their ids. */
export function readRows(tx: Tx, after: string | null, limit: number): Promise<NumberedRow[]> {
  const rows = selectRows(tx).orderBy('audit_log.id').limit(limit);
  return (after === null ? rows : rows.where('audit_log.id', '>', after)).execute();
}

/** Reads the newest entries of all users. */
export function readNewestRows(tx: Tx, limit: number): Promise<NumberedRow[]> {
  return selectRows(tx).orderBy('audit_log.id', 'desc').limit(limit).execute();
}

/** Reads the last places of the trails after `after`, in the order of their ids. */
export function readLastPlaces(tx: Tx, after: number | null, limit: number): Promise<LastPlace[]> {
  const trails = tx
    .selectFrom('audit_trails as trail')
    .select(['id as trailId', 'last_seq as seq', hasLast.as('hasLast')])
    .orderBy('id')
    .limit(limit);
  return (after === null ? trails : trails.where('id', '>', after)).execute();
}

/** A place, and the entry that the log has there. */
interface Found extends LogPlace {
  readonly row: NumberedRow | undefined;
  /** Whether a later number of the trail was given out, or this one. */
  readonly isExpected: boolean;
}

/** Reads what the log has at some places. */
export async function readPlaces(tx: Tx, places: readonly LogPlace[]): Promise<Found[]> {
  const found: Found[] = [];
  for (const place of places) found.push(await readPlace(tx, place));
  return found;
}

async function readPlace(tx: Tx, { trailId, seq }: LogPlace): Promise<Found> {
  const row = await selectRows(tx)
    .where('trail_id', '=', trailId)
    .where('seq', '=', seq)
    .executeTakeFirst();
  const { rows } = await sql<{ readonly isExpected: boolean }>`
    select exists (
      select from audit_trails where id = ${trailId} and last_seq >= ${seq}
    ) or exists (
      select from audit_log where trail_id = ${trailId} and seq = ${seq + 1}
    ) as "isExpected"`.execute(tx);
  return { trailId, seq, row, isExpected: rows[0]?.isExpected ?? false };
}

/** Counts the rows of a walk. */
export async function countRows(tx: Tx, table: 'audit_log' | 'audit_trails'): Promise<number> {
  const { count } = await tx
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}
