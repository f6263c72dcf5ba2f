import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';

/** Hours for which an Idempotency-Key is kept, so that its request is not performed again. */
const keptHours = 24;

/**
 * The SQL condition that a row of `idempotency_keys` is too old, so that its key can be used for
 * another request.
 */
export const isOld = sql<boolean>`
  idempotency_keys.created_at <= now() - make_interval(hours => ${keptHours})`;

/**
 * Removes at most `limit` Idempotency-Keys that are older than 24 hours. Resolves with the number
 * of removed keys.
 */
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

/** Counts the keys that `removeOldKeys` would remove without a limit. */
export async function countOldKeys(tx: Tx): Promise<number> {
  const { count } = await tx
    .selectFrom('idempotency_keys')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(isOld)
    .executeTakeFirstOrThrow();
  return count;
}
