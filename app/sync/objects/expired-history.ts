import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { undoDays } from './history.ts';

const isExpired = sql<boolean>`sync_history.expires_at <= now()`;
/** Matches an undo to which no kept response can refer any more, and whose row stays. */
const isUndoOld = sql<boolean>`sync_history.undo is not null
  and sync_history.recorded_at <= now() - make_interval(days => ${undoDays})
  and (sync_history.expires_at is null or sync_history.expires_at > now())`;

/**
 * Removes at most `limit` entries that the histories of objects need not keep, the earliest first,
 * so that the versions that remain have no gap. Returns the number of removed entries.
 */
export async function removeOldHistory(tx: Tx, limit: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('sync_history')
    .where('id', 'in', () =>
      tx
        .selectFrom('sync_history')
        .select('id')
        .where(isExpired)
        .orderBy('expires_at')
        .orderBy('id')
        .limit(limit),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Forgets at most `limit` old undos. Returns their number. */
export async function forgetOldUndos(tx: Tx, limit: number): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('sync_history')
    .set({ undo: null })
    .where('id', 'in', () =>
      tx
        .selectFrom('sync_history')
        .select('id')
        .where(isUndoOld)
        .orderBy('recorded_at')
        .limit(limit)
        .forUpdate()
        .skipLocked(),
    )
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

export function countOldHistory(tx: Tx): Promise<number> {
  return countRows(tx, isExpired);
}

export function countOldUndos(tx: Tx): Promise<number> {
  return countRows(tx, isUndoOld);
}

async function countRows(tx: Tx, condition: typeof isExpired): Promise<number> {
  const { count } = await tx
    .selectFrom('sync_history')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(condition)
    .executeTakeFirstOrThrow();
  return count;
}
