import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { deletePages } from '../../db/pages/delete-pages.ts';
import { forgottenAfterMs } from './login-proof-limits.ts';

/**
 * Removes at most `limit` client addresses that no longer count as known. Resolves with the number
 * of removed rows.
 */
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

/** Removes the known client addresses of the given accounts. */
export async function forgetAddressesOf(tx: Tx, accountIds: readonly string[]): Promise<void> {
  const where = sql<boolean>`account_id = any(${accountIds}::uuid[])`;
  await deletePages(tx, { table: 'known_addresses', where });
}

/** Counts the client addresses that `removeOldAddresses` would remove without a limit. */
export async function countOldAddresses(tx: Tx, now: Date): Promise<number> {
  const { count } = await tx
    .selectFrom('known_addresses')
    .select(({ fn }) => fn.count<number>('account_id').as('count'))
    .where('last_login_at', '<=', lastOld(now))
    .executeTakeFirstOrThrow();
  return count;
}

function lastOld(now: Date): Date {
  return new Date(now.getTime() - forgottenAfterMs);
}
