import type { Tx } from '../db/database.ts';

/**
 * Milliseconds for which bindings of other issuers' sessions are kept: longer than these sessions
 * last, since a session that outlived its binding could be bound to another device.
 */
const keptMs = 400 * 86_400_000;

/** Removes at most `limit` old bindings of other issuers' sessions. Resolves with their number. */
export async function removeOldBindings(tx: Tx, now: Date, limit: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('session_devices')
    .where(({ eb, selectFrom }) =>
      eb(
        'id',
        'in',
        selectFrom('session_devices')
          .select('id')
          .where('created_at', '<=', lastOld(now))
          .orderBy('created_at')
          .limit(limit)
          .forUpdate()
          .skipLocked(),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

/** Counts the bindings that `removeOldBindings` would remove without a limit. */
export async function countOldBindings(tx: Tx, now: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('session_devices')
    .select(({ fn }) => fn.count<number>('id').as('count'))
    .where('created_at', '<=', lastOld(now))
    .executeTakeFirstOrThrow();
  return count;
}

function lastOld(now: Date): Date {
  return new Date(now.getTime() - keptMs);
}
