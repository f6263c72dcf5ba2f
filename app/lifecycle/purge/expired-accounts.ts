import { sql } from 'kysely';
import { NIL } from 'uuid';
import { findUnsealed } from '../../audit/entries/erasure.ts';
import type { Tx } from '../../db/database.ts';

/** How far a walk over the accounts, oldest first, has come. */
export interface Place {
  readonly createdAt: Date;
  readonly id: string;
}

/** Before every account. */
export const start: Place = {
  createdAt: new Date(0),
  id: NIL,
};

export const batchSize = 200;

/** Of `accounts`. A value of its own for each row: a join would read every registration each time. */
const lastTokenEnds = sql<Date>`coalesce(
  (select max(expires_at) from registrations where account_id = accounts.id),
  accounts.created_at
)`;

/** Accounts never validated of which every token has ended by `now`: the next ones after a place. */
export function selectExpired(tx: Tx, after: Place, now: Date) {
  return tx
    .selectFrom('accounts')
    .select(['id', 'created_at as createdAt'])
    .where('status', '=', 'PENDING_VALIDATION')
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('created_at', 'id'), '>', tuple(after.createdAt, after.id)),
    )
    .where(lastTokenEnds, '<=', now)
    .orderBy('created_at')
    .orderBy('id')
    .limit(batchSize);
}

/**
 * Those of the accounts that may be removed, once the caller has locked them: none was registered
 * again just before, and each of their entries is sealed.
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

/** How many accounts were never validated, how many of them may be no more, and since when. */
export async function countPending(tx: Tx, now: Date) {
  const { rows } = await sql<{ pending: number; expired: number; oldest: Date | null }>`
    select count(*) as pending, count(*) filter (where ended_at <= ${now}) as expired,
      min(ended_at) filter (where ended_at <= ${now}) as oldest
    from (
      select ${lastTokenEnds} as ended_at from accounts where status = 'PENDING_VALIDATION'
    ) as waiting`.execute(tx);
  const [counts = { pending: 0, expired: 0, oldest: null }] = rows;
  return counts;
}
