import { sql, type RawBuilder } from 'kysely';
import { NIL } from 'uuid';
import { maxEntryBytes } from '../../../signer/protocol/protocol.ts';
import type { Tx } from '../../db/database.ts';
import { compileOnce } from '../../db/compile-once.ts';
import { commitWith } from '../../db/transaction.ts';
import type { ClaimedEntry } from './entry-signing.ts';
import { nextFrom, type QueueCursor, type QueueReading } from './queue-cursor.ts';
import { comparedColumns } from './row-comparison.ts';

export const leaseSeconds = 30;

/** The canonical text; null if it is larger than the signer accepts. */
export const sendableText: RawBuilder<string | null> = sql`
  case when octet_length(canonical) <= ${maxEntryBytes} then canonical end`;

/** The order in which entries wait: by transaction, and within one by age. */
const inOrder = sql`transaction_id, entry_id`;

/** The condition of entries that a batch may lease. */
const isClaimable = sql<boolean>`(claimed_until is null or claimed_until < now())`;

/** An entry that one batch has leased. */
export interface QueuedEntry extends ClaimedEntry {
  /** Where its row of the queue is stored (`ctid`), as long as no statement changes the row. */
  readonly place: string;
}

/**
 * Creates the function that leases the entries of a batch. If more wait than fit, owners take
 * turns: each gets an equal share of the batch, whose rest goes to those who have more. If there
 * are more owners than places, the next batch continues with the owner after the last one.
 */
export function createTurns(cursor: QueueCursor) {
  let lastOwner: string = NIL;

  async function leaseInTurns(tx: Tx, claimId: string, limit: number, from: string) {
    const owners = await findOwners(tx, { lastOwner, limit, from });
    lastOwner = owners.at(-1) ?? NIL;
    let turns: Turn[] = owners.map((ownerId) => ({ ownerId, transaction: from, id: NIL }));
    const leased: QueuedEntry[] = [];
    while (turns.length > 0 && leased.length < limit) {
      const room = limit - leased.length;
      const share = Math.max(1, Math.floor(room / turns.length));
      const locked = await lockShares(tx, turns.slice(0, room), share);
      const places = locked.map(({ place }) => place);
      leased.push(...(await lease(tx, { claimId, places })));
      turns = [...nextTurns(locked, share), ...turns.slice(room)];
    }
    return leased;
  }

  /** Leases up to `limit` entries, of each owner the oldest. `leased` settles with the commit. */
  return async (tx: Tx, claimId: string, limit: number): Promise<Leased> => {
    const { places, from } = await cursor.read((begin) => lockOldest(tx, limit + 1, begin));
    if (places.length === 0) return { leased: [] };
    if (places.length > limit) return { leased: await leaseInTurns(tx, claimId, limit, from) };
    const leased = lease(tx, { claimId, places });
    commitWith(tx, leased);
    return { leased };
  };
}

interface Leased {
  readonly leased: readonly QueuedEntry[] | Promise<readonly QueuedEntry[]>;
}

interface Oldest extends QueueReading {
  /** The transaction at which the reading began. */
  readonly from: string;
  /** The places of claimable entries, which are locked now. */
  readonly places: readonly string[];
}

/** Locks up to `limit` claimable entries, without those that a batch is leasing. */
async function lockOldest(tx: Tx, limit: number, from: string): Promise<Oldest> {
  const [found] = await selectOldest(tx, { from, limit });
  return { from, next: found?.next ?? from, places: found?.places ?? [] };
}

const selectOldest = compileOnce(({ from, limit }: { from: string; limit: number }, db) =>
  db
    .selectNoFrom([
      nextFrom(from).as('next'),
      sql<string[]>`array(select ctid::text from audit_queue
        where transaction_id >= ${from}::xid8 and ${isClaimable}
        order by ${inOrder} limit ${limit} for update skip locked)`.as('places'),
    ])
    .compile(),
);

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
  const isWaiting = sql`${isClaimable} and transaction_id >= ${from}::xid8 and ${range}`;
  return sql`(
    select user_id from audit_queue where ${isWaiting} order by user_id limit 1
  ) union all
  select (
    select user_id from audit_queue
    where ${isWaiting} and user_id > ${name}.user_id order by user_id limit 1
  ) from ${name} where ${name}.user_id is not null`;
}

/** An owner's turn: the entries from one on. */
interface Turn {
  readonly ownerId: string;
  readonly transaction: string;
  readonly id: string;
}

interface Locked extends Turn {
  readonly place: string;
}

/**
 * Locks up to `share` entries of each owner and returns them in order. Leaves out entries that
 * another batch is leasing.
 */
async function lockShares(tx: Tx, turns: readonly Turn[], share: number): Promise<Locked[]> {
  const owners = turns.map(({ ownerId }) => ownerId);
  const transactions = turns.map(({ transaction }) => transaction);
  const ids = turns.map(({ id }) => id);
  // Only the index by owner has this order: for that of the transactions alone, Postgres may read
  // the whole queue.
  const { rows } = await sql<Locked>`
    select owner.id as "ownerId", turn.transaction_id::text as transaction, turn.entry_id as id,
      turn.ctid::text as place
    from unnest(${owners}::uuid[], ${transactions}::xid8[], ${ids}::uuid[])
      as owner (id, transaction_id, entry_id), lateral (
      select transaction_id, entry_id, ctid from audit_queue
      where ${isClaimable} and (user_id, transaction_id, entry_id)
          >= (owner.id, owner.transaction_id, owner.entry_id)
        and user_id <= owner.id
      order by user_id, ${inOrder} limit ${share} for update skip locked
    ) as turn`.execute(tx);
  return rows;
}

interface Lease {
  readonly claimId: string;
  readonly places: readonly string[];
}

/** Leases entries that the transaction has locked, so that each is still at its place. */
const lease = compileOnce(({ claimId, places }: Lease, db) =>
  db
    .updateTable('audit_queue')
    .from('audit_log')
    .leftJoin('audit_trails', 'audit_trails.id', 'audit_log.trail_id')
    .set({
      claim_id: claimId,
      claimed_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
    })
    .where(sql<boolean>`audit_queue.ctid = any(${places}::tid[])`)
    .whereRef('audit_log.id', '=', 'audit_queue.entry_id')
    .returning([
      ...comparedColumns,
      sendableText.as('text'),
      sql<string>`audit_queue.ctid::text`.as('place'),
    ])
    .compile(),
);

/** Returns the next turns of the owners who had `share` entries, from the last of these on. */
function nextTurns(locked: readonly Turn[], share: number): Turn[] {
  const entriesOf = Map.groupBy(locked, ({ ownerId }) => ownerId);
  return [...entriesOf.values()].flatMap((entries) =>
    entries.length === share ? entries.slice(-1) : [],
  );
}
