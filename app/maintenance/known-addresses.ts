import type { Tx } from '../db/database.ts';

/** Removes addresses from which nobody has logged in since, at most `limit`. Answers how many. */
export async function removeOldAddresses(tx: Tx, before: Date, limit: number): Promise<number> {
  const { numDeletedRows } = await tx
    .deleteFrom('known_addresses')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('account_id', 'address_hash'),
        'in',
        selectFrom('known_addresses')
          .select(['account_id', 'address_hash'])
          .where('last_login_at', '<=', before)
          .limit(limit)
          .forUpdate()
          .skipLocked()
          .$asTuple('account_id', 'address_hash'),
      ),
    )
    .executeTakeFirst();
  return Number(numDeletedRows);
}

export async function countOldAddresses(tx: Tx, before: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('known_addresses')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('last_login_at', '<=', before)
    .executeTakeFirstOrThrow();
  return count;
}
