import type { Tx } from '../../db/database.ts';
import { forgottenAfterMs } from './proof-limits.ts';

/** Removes addresses that are no longer looked at, at most `limit` of them. Answers how many. */
export async function removeOldAddresses(tx: Tx, now: Date, limit: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('known_addresses')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('account_id', 'address_hash'),
        'in',
        selectFrom('known_addresses')
          .select(['account_id', 'address_hash'])
          .where('last_login_at', '<=', lastOld(now))
          .limit(limit)
          .forUpdate()
          .skipLocked()
          .$asTuple('account_id', 'address_hash'),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

export async function countOldAddresses(tx: Tx, now: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('known_addresses')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('last_login_at', '<=', lastOld(now))
    .executeTakeFirstOrThrow();
  return count;
}

function lastOld(now: Date): Date {
  return new Date(now.getTime() - forgottenAfterMs);
}
