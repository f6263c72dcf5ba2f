import type { Tx } from '../db/database.ts';

/** Removes what sessions of other issuers were bound to before, at most `limit`. Answers how many. */
export async function removeOldBindings(tx: Tx, before: Date, limit: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('session_devices')
    .where(({ eb, selectFrom }) =>
      eb(
        'id',
        'in',
        selectFrom('session_devices')
          .select('id')
          .where('created_at', '<=', before)
          .orderBy('created_at')
          .limit(limit)
          .forUpdate()
          .skipLocked(),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

export async function countOldBindings(tx: Tx, before: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('session_devices')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('created_at', '<=', before)
    .executeTakeFirstOrThrow();
  return count;
}
