import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';

/** For so long a request is not done again under its key. */
const keptHours = 24;

/** Of `idempotency_keys`: the key is free again. */
export const isOld = sql<boolean>`idempotency_keys.created_at <= now() - make_interval(hours => ${keptHours})`;

/** Removes keys that are no longer looked at, at most `limit` of them. Answers how many. */
export async function removeOldKeys(tx: Tx, limit: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('idempotency_keys')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('user_id', 'key_hash'),
        'in',
        selectFrom('idempotency_keys')
          .select(['user_id', 'key_hash'])
          .where(isOld)
          .orderBy('created_at')
          .limit(limit)
          .forUpdate()
          .skipLocked()
          .$asTuple('user_id', 'key_hash'),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

export async function countOldKeys(tx: Tx): Promise<number> {
  const { count } = await tx
    .selectFrom('idempotency_keys')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(isOld)
    .executeTakeFirstOrThrow();
  return count;
}
