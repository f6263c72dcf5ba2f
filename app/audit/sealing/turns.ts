import { sql, type RawBuilder } from 'kysely';
import { NIL } from 'uuid';
import { maxEntryBytes } from '../../../signer/protocol/protocol.ts';
import type { Tx } from '../../db/database.ts';
import type { ClaimedEntry } from './entry-signing.ts';
import { comparedColumns } from './row-comparison.ts';

export const leaseSeconds = 30;

/** The canonical text; null if it is larger than the signer accepts. */
export const sendableText: RawBuilder<string | null> = sql`
  case when octet_length(canonical) <= ${maxEntryBytes} then canonical end`;

/** The condition of entries that a batch may lease. The partial index requires its first half. */
const isClaimable = sql<boolean>`
  state = 'PENDING' and (claimed_until is null or claimed_until < now())`;

/**
 * Creates the function that leases the entries of a batch. Owners take turns: each gets an equal
 * share of the batch, whose rest goes to those who have more. If there are more owners than places,
 * the next batch continues with the owner after the last one.
 */
export function createTurns() {
  let lastOwner: string = NIL;

  /** Leases up to `limit` entries, of each owner the oldest. */
  return async (tx: Tx, claimId: string, limit: number): Promise<ClaimedEntry[]> => {
    let owners = await findOwners(tx, lastOwner, limit);
    lastOwner = owners.at(-1) ?? NIL;
    const leased: ClaimedEntry[] = [];
    while (owners.length > 0 && leased.length < limit) {
      const room = limit - leased.length;
      const share = Math.max(1, Math.floor(room / owners.length));
      const found = await leaseShares(tx, claimId, owners.slice(0, room), share);
      leased.push(...found);
      owners = [...ownersWithMore(found, share), ...owners.slice(room)];
    }
    return leased;
  };
}

/**
 * Finds up to `limit` owners of claimable entries, in the order of their ids: first those after
 * `lastOwner`, then the others. Skips from owner to owner in the index, so that it reads few of the
 * entries of an owner who has many.
 */
async function findOwners(tx: Tx, lastOwner: string, limit: number): Promise<string[]> {
  const { rows } = await sql<{ readonly user_id: string }>`
    with recursive later as (${ownersIn(sql`later`, sql`user_id > ${lastOwner}::uuid`)}),
      earlier as (${ownersIn(sql`earlier`, sql`user_id <= ${lastOwner}::uuid`)})
    select user_id from later where user_id is not null
    union all
    select user_id from earlier where user_id is not null
    limit ${limit}`.execute(tx);
  return rows.map(({ user_id: ownerId }) => ownerId);
}

/** Returns the terms of a recursive query `name` that skips from each owner to the next one. */
function ownersIn(name: RawBuilder<unknown>, range: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`(
    select user_id from audit_entries where ${isClaimable} and ${range} order by user_id limit 1
  ) union all
  select (
    select user_id from audit_entries
    where ${isClaimable} and ${range} and user_id > ${name}.user_id order by user_id limit 1
  ) from ${name} where ${name}.user_id is not null`;
}

/** Leases up to `share` entries of each owner. Leaves out entries that another batch is leasing. */
async function leaseShares(
  tx: Tx,
  claimId: string,
  owners: readonly string[],
  share: number,
): Promise<ClaimedEntry[]> {
  // `array` makes Postgres evaluate the inner query once, whatever its estimates are. Only the
  // index of unsealed entries is in the order of creation: for the order of ids, Postgres may read
  // the whole primary key.
  return tx
    .updateTable('audit_entries')
    .set({
      claim_id: claimId,
      claimed_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
    })
    .where(
      sql<boolean>`id = any(array(
        select turn.id from unnest(${owners}::uuid[]) as owner (id), lateral (
          select id from audit_entries
          where ${isClaimable} and user_id = owner.id
          order by created_at, id limit ${share} for update skip locked
        ) as turn
      ))`,
    )
    .returning([...comparedColumns, sendableText.as('text')])
    .execute();
}

function ownersWithMore(leased: readonly ClaimedEntry[], share: number): string[] {
  const counts = new Map<string, number>();
  for (const { ownerId } of leased) counts.set(ownerId, (counts.get(ownerId) ?? 0) + 1);
  return [...counts].filter(([, count]) => count === share).map(([ownerId]) => ownerId);
}
