import { sql, type RawBuilder } from 'kysely';
import { NIL } from 'uuid';
import { maxEntryBytes } from '../../../signer/protocol/protocol.ts';
import type { Tx } from '../../db/database.ts';
import type { ClaimedEntry } from './entry-signing.ts';
import { createQueueCursor } from './queue-cursor.ts';
import { comparedColumns } from './row-comparison.ts';

export const leaseSeconds = 30;

/** The canonical text; null if it is larger than the signer accepts. */
export const sendableText: RawBuilder<string | null> = sql`
  case when octet_length(canonical) <= ${maxEntryBytes} then canonical end`;

/** The condition of entries that a batch may lease. */
const isClaimable = sql<boolean>`(claimed_until is null or claimed_until < now())`;

/**
 * Creates the function that leases the entries of a batch. If more wait than fit, owners take
 * turns: each gets an equal share of the batch, whose rest goes to those who have more. If there
 * are more owners than places, the next batch continues with the owner after the last one.
 */
export function createTurns() {
  const cursor = createQueueCursor();
  let lastOwner: string = NIL;

  async function leaseInTurns(tx: Tx, claimId: string, limit: number, from: string) {
    const ids = await findOwners(tx, { lastOwner, limit, from });
    lastOwner = ids.at(-1) ?? NIL;
    let owners: Turn[] = ids.map((ownerId) => ({ ownerId, from }));
    const leased: ClaimedEntry[] = [];
    while (owners.length > 0 && leased.length < limit) {
      const room = limit - leased.length;
      const share = Math.max(1, Math.floor(room / owners.length));
      const found = await lease(tx, claimId, await lockShares(tx, owners.slice(0, room), share));
      leased.push(...found);
      owners = [...ownersWithMore(found, share), ...owners.slice(room)];
    }
    return leased;
  }

  /** Leases up to `limit` entries, of each owner the oldest. */
  return async (tx: Tx, claimId: string, limit: number): Promise<ClaimedEntry[]> => {
    const from = cursor.next();
    const { first, ids } = await lockOldest(tx, limit + 1, from);
    cursor.found(first);
    if (ids.length > limit) return leaseInTurns(tx, claimId, limit, from);
    return ids.length === 0 ? [] : lease(tx, claimId, ids);
  };
}

interface Oldest {
  /** The lowest id in the queue, claimable or not; null if there is none. */
  readonly first: string | null;
  /** Ids of claimable entries, which are locked now. */
  readonly ids: readonly string[];
}

/** Locks up to `limit` claimable entries from an id on, without those that a batch is leasing. */
async function lockOldest(tx: Tx, limit: number, from: string): Promise<Oldest> {
  const { rows } = await sql<Oldest>`
    select (select entry_id from audit_queue where entry_id >= ${from}::uuid
        order by entry_id limit 1) as first,
      array(select entry_id from audit_queue where entry_id >= ${from}::uuid and ${isClaimable}
        order by entry_id limit ${limit} for update skip locked) as ids`.execute(tx);
  return rows[0] ?? { first: null, ids: [] };
}

interface Owners {
  readonly lastOwner: string;
  readonly limit: number;
  readonly from: string;
}

/**
 * Finds up to `limit` owners of claimable entries, in the order of their ids: first those after
 * `lastOwner`, then the others. Skips from owner to owner in the index, so that it reads few of the
 * entries of an owner who has many.
 */
async function findOwners(tx: Tx, { lastOwner, limit, from }: Owners): Promise<string[]> {
  const { rows } = await sql<{ readonly user_id: string }>`
    with recursive later as (${ownersIn(sql`later`, sql`user_id > ${lastOwner}::uuid`, from)}),
      earlier as (${ownersIn(sql`earlier`, sql`user_id <= ${lastOwner}::uuid`, from)})
    select user_id from later where user_id is not null
    union all
    select user_id from earlier where user_id is not null
    limit ${limit}`.execute(tx);
  return rows.map(({ user_id: ownerId }) => ownerId);
}

/** Returns the terms of a recursive query `name` that skips from each owner to the next one. */
function ownersIn(
  name: RawBuilder<unknown>,
  range: RawBuilder<unknown>,
  from: string,
): RawBuilder<unknown> {
  const isWaiting = sql`${isClaimable} and entry_id >= ${from}::uuid and ${range}`;
  return sql`(
    select user_id from audit_queue where ${isWaiting} order by user_id limit 1
  ) union all
  select (
    select user_id from audit_queue
    where ${isWaiting} and user_id > ${name}.user_id order by user_id limit 1
  ) from ${name} where ${name}.user_id is not null`;
}

/** An owner's turn: the entries from an id on. */
interface Turn {
  readonly ownerId: string;
  readonly from: string;
}

/** Locks up to `share` entries of each owner. Leaves out entries that another batch is leasing. */
async function lockShares(tx: Tx, turns: readonly Turn[], share: number): Promise<string[]> {
  const owners = turns.map(({ ownerId }) => ownerId);
  const starts = turns.map(({ from }) => from);
  // Only the index by owner has this order: for that of the ids alone, Postgres may read the whole
  // primary key.
  const { rows } = await sql<{ readonly id: string }>`
    select turn.entry_id as id
    from unnest(${owners}::uuid[], ${starts}::uuid[]) as owner (id, start), lateral (
      select entry_id from audit_queue
      where ${isClaimable} and (user_id, entry_id) >= (owner.id, owner.start)
        and user_id <= owner.id
      order by user_id, entry_id limit ${share} for update skip locked
    ) as turn`.execute(tx);
  return rows.map(({ id }) => id);
}

/** Leases entries that the transaction has locked. */
async function lease(tx: Tx, claimId: string, ids: readonly string[]): Promise<ClaimedEntry[]> {
  return tx
    .updateTable('audit_queue')
    .from('audit_log')
    .set({
      claim_id: claimId,
      claimed_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
    })
    .where('entry_id', '=', sql<string>`any(${ids}::uuid[])`)
    .whereRef('audit_log.id', '=', 'audit_queue.entry_id')
    .returning([...comparedColumns, sendableText.as('text')])
    .execute();
}

/** Returns the next turns of the owners who had `share` entries, after the last of these. */
function ownersWithMore(leased: readonly ClaimedEntry[], share: number): Turn[] {
  const idsOf = Map.groupBy(leased, ({ ownerId }) => ownerId);
  return [...idsOf]
    .filter(([, { length }]) => length === share)
    .map(([ownerId, entries]) => ({ ownerId, from: lastIdOf(entries) }));
}

function lastIdOf(entries: readonly ClaimedEntry[]): string {
  return entries.map(({ id }) => id).reduce((last, id) => (id > last ? id : last), NIL);
}
