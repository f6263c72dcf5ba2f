import type { Tx } from '../db/database.ts';

/** Longer than other issuers let a session live: one that outlived its binding could be bound anew. */
const keptMs = 400 * 86_400_000;

/** Removes what sessions of other issuers were bound to long ago, at most `limit`. Answers how many. */
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

export async function countOldBindings(tx: Tx, now: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('session_devices')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('created_at', '<=', lastOld(now))
    .executeTakeFirstOrThrow();
  return count;
}

function lastOld(now: Date): Date {
  return new Date(now.getTime() - keptMs);
}
