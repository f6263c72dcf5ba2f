import { sql } from 'kysely';
import type { Owner, Tx } from '../../db/database.ts';
import { startAfter, type Cursor } from '../objects/cursor.ts';

/** The newest change, as a statement selects it. */
interface Newest {
  readonly epoch: string;
  readonly newest: number;
}

/**
 * One row: the present epoch, and the number of the user's newest change in it, 0 without any. What is
 * left-joined to it is of the same moment.
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

/** What was left-joined is there, all of it. */
type Joined<Row> = { [Column in keyof Row]: NonNullable<Row[Column]> };

interface ReadAfter<Row> {
  /** The cursor itself, or the start. */
  readonly start: Cursor;
  readonly rows: readonly Joined<Row>[];
}

/**
 * What changed after a cursor; all there is where this history never gave it out, as after a restore.
 * `read` selects what has greater numbers, whatever the epoch, left-joined to `selectNewest`.
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
  if (row === undefined) throw new TypeError('the present epoch is always there');
  return toCursor(row);
}

function isJoined<Row extends { readonly objectId: string | null }>(
  row: Row,
): row is Row & Joined<Row> {
  return row.objectId !== null;
}
