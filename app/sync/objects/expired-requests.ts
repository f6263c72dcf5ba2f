import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';

/** Matches a row of `sync_requests` that has expired, so that its request id may be used again. */
export const isOld = sql<boolean>`sync_requests.expires_at <= now()`;

/** Removes at most `limit` expired rows of `sync_requests`. Returns the number of removed rows. */
export async function removeOldRequests(tx: Tx, limit: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('sync_requests')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('user_id', 'tenant_id', 'request_id'),
        'in',
        selectFrom('sync_requests')
          .select(['user_id', 'tenant_id', 'request_id'])
          .where(isOld)
          .orderBy('expires_at')
          .limit(limit)
          .forUpdate()
          .skipLocked()
          .$asTuple('user_id', 'tenant_id', 'request_id'),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

export async function countOldRequests(tx: Tx): Promise<number> {
  const { count } = await tx
    .selectFrom('sync_requests')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(isOld)
    .executeTakeFirstOrThrow();
  return count;
}
