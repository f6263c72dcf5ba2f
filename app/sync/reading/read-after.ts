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
  /** The first row, which stands alone if nothing changed. */
  readonly first: Row;
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
  const first = firstOf(rows);
  const start = startAfter(since, toCursor(first));
  if (start.change === since.change) return { start, rows: rows.filter(isJoined), first };
  const all = await read(0);
  const firstOfAll = firstOf(all);
  const theStart = { ...toCursor(firstOfAll), change: 0 };
  return { start: theStart, rows: all.filter(isJoined), first: firstOfAll };
}

function firstOf<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new TypeError('the database has no row of the current epoch');
  return row;
}

function isJoined<Row extends { readonly objectId: string | null }>(
  row: Row,
): row is Row & Joined<Row> {
  return row.objectId !== null;
}
