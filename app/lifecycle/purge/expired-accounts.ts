import { sql } from 'kysely';
import { NIL } from 'uuid';
import { findUnsealed } from '../../audit/entries/erasure.ts';
import type { Tx } from '../../db/database.ts';

/** A position in the list of accounts by creation time, oldest first. */
export interface Place {
  readonly createdAt: Date;
  readonly id: string;
}

/** The position before every account. */
export const start: Place = {
  createdAt: new Date(0),
  id: NIL,
};

export const batchSize = 200;

/**
 * The SQL expression for the time when the last validation token of a row of `accounts` expires. A
 * join instead of the subquery would read every registration.
 */
const lastTokenEnds = sql<Date>`coalesce(
  (select max(expires_at) from registrations where account_id = accounts.id),
  accounts.created_at
)`;

/**
 * Selects the next accounts after the position `after` that were never validated and whose
 * validation tokens have all expired.
 */
export function selectExpired(tx: Tx, after: Place, now: Date) {
  return tx
    .selectFrom('accounts')
    .select(['id', 'created_at as createdAt'])
    .where('status', '=', sql.lit('PENDING_VALIDATION' as const))
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'id'), '>', tuple(after.createdAt, after.id)),
    )
    .where(lastTokenEnds, '<=', now)
    .orderBy('created_at')
    .orderBy('id')
    .limit(batchSize);
}

/**
 * Returns the ids of the given accounts that may be removed: accounts that were not registered
 * again just before the caller locked them, and whose audit entries are all sealed. A caller that
 * only counts need not lock the accounts.
 */
export async function findRemovable(
  tx: Tx,
  ids: readonly string[],
  now: Date,
): Promise<readonly string[]> {
  if (ids.length === 0) return [];
  const rows = await tx
    .selectFrom('accounts')
    .select('id')
    .where('id', 'in', ids)
    .where(lastTokenEnds, '<=', now)
    .execute();
  const unsealed = await findUnsealed(tx, ids);
  return rows.map(({ id }) => id).filter((id) => !unsealed.has(id));
}

/**
 * Counts the accounts that are not validated, and among these the accounts whose validation tokens
 * have all expired.
 */
export async function countPending(tx: Tx, now: Date) {
  const { rows } = await sql<{
    readonly pending: number;
    readonly expired: number;
    readonly oldest: Date | null;
  }>`
    select count(*) as pending, count(*) filter (where ended_at <= ${now}) as expired,
      min(ended_at) filter (where ended_at <= ${now}) as oldest
    from (
      select ${lastTokenEnds} as ended_at from accounts where status = 'PENDING_VALIDATION'
    ) as waiting`.execute(tx);
  const [counts = { pending: 0, expired: 0, oldest: null }] = rows;
  return counts;
}
