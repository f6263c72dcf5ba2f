import { sql } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { startAfter, type Cursor } from '../objects/cursor.ts';

/** The newest change of a user, as a row of `selectNewest`. */
interface Newest {
  readonly epoch: string;
  readonly newest: number;
}

/**
 * Selects one row with the current epoch and the number of the user's newest change, 0 if the user
 * has no change. Rows that are left-joined to this row are read from the same snapshot.
 */
export function selectNewest(tx: Tx, { userId, tenantId }: Owner) {
  return tx
    .selectFrom('sync_epochs as e')
    .leftJoin('sync_counters as n', (join) =>
      join.on('n.user_id', '=', userId).on('n.tenant_id', '=', tenantId),
    )
    .select(['e.epoch', sql<number>`coalesce(n.last_change, 0)`.as('newest')]);
}

export function toCursor({ epoch, newest }: Newest): Cursor {
  return { epoch, change: newest };
}

/** A row for which the left join found a match, so that none of its columns is null. */
type Joined<Row> = { [Column in keyof Row]: NonNullable<Row[Column]> };

interface ReadAfter<Row> {
  /** The given cursor, or the start if this history never issued the given cursor. */
  readonly start: Cursor;
  readonly rows: readonly Joined<Row>[];
}

/**
 * Reads the changes after the cursor `since`, or all changes if this history never issued the
 * cursor, for example after a restore. `read` must select the changes with numbers above its
 * argument, in any epoch, left-joined to `selectNewest`.
 */
export async function readAfter<Row extends Newest & { readonly objectId: string | null }>(
  since: Cursor,
  read: (after: number) => Promise<readonly Row[]>,
): Promise<ReadAfter<Row>> {
  const rows = await read(since.change);
  const start = startAfter(since, newestOf(rows));
  if (start.change === since.change) return { start, rows: rows.filter(isJoined) };
  const all = await read(0);
  return { start: { ...newestOf(all), change: 0 }, rows: all.filter(isJoined) };
}

function newestOf(rows: readonly Newest[]): Cursor {
  const [row] = rows;
  if (row === undefined) throw new TypeError('the database has no row of the current epoch');
  return toCursor(row);
}

function isJoined<Row extends { readonly objectId: string | null }>(
  row: Row,
): row is Row & Joined<Row> {
  return row.objectId !== null;
}
