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
    const leased: ClaimedEntry[] = [];
    while (turns.length > 0 && leased.length < limit) {
      const room = limit - leased.length;
      const share = Math.max(1, Math.floor(room / turns.length));
      const locked = await lockShares(tx, turns.slice(0, room), share);
      const ids = locked.map(({ id }) => id);
      leased.push(...(await lease(tx, { claimId, ids })));
      turns = [...nextTurns(locked, share), ...turns.slice(room)];
    }
    return leased;
  }

  /** Leases up to `limit` entries, of each owner the oldest. `leased` settles with the commit. */
  return async (tx: Tx, claimId: string, limit: number): Promise<Leased> => {
    const { ids, from } = await cursor.read((begin) => lockOldest(tx, limit + 1, begin));
    if (ids.length === 0) return { leased: [] };
    if (ids.length > limit) return { leased: await leaseInTurns(tx, claimId, limit, from) };
    const leased = lease(tx, { claimId, ids });
    commitWith(tx, leased);
    return { leased };
  };
}

interface Leased {
  readonly leased: readonly ClaimedEntry[] | Promise<readonly ClaimedEntry[]>;
}

interface Oldest extends QueueReading {
  /** The transaction at which the reading began. */
  readonly from: string;
  /** Ids of claimable entries, which are locked now. */
  readonly ids: readonly string[];
}

/** Locks up to `limit` claimable entries, without those that a batch is leasing. */
async function lockOldest(tx: Tx, limit: number, from: string): Promise<Oldest> {
  const [found] = await selectOldest(tx, { from, limit });
  return { from, next: found?.next ?? from, ids: found?.ids ?? [] };
}

const selectOldest = compileOnce(({ from, limit }: { from: string; limit: number }, db) =>
  db
    .selectNoFrom([
      nextFrom(from).as('next'),
      sql<string[]>`array(select entry_id from audit_queue where transaction_id >= ${from}::xid8
        and ${isClaimable} order by ${inOrder} limit ${limit} for update skip locked)`.as('ids'),
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

/**
 * Locks up to `share` entries of each owner and returns them in order. Leaves out entries that
 * another batch is leasing.
 */
async function lockShares(tx: Tx, turns: readonly Turn[], share: number): Promise<Turn[]> {
  const owners = turns.map(({ ownerId }) => ownerId);
  const transactions = turns.map(({ transaction }) => transaction);
  const ids = turns.map(({ id }) => id);
  // Only the index by owner has this order: for that of the transactions alone, Postgres may read
  // the whole queue.
  const { rows } = await sql<Turn>`
    select owner.id as "ownerId", turn.transaction_id::text as transaction, turn.entry_id as id
    from unnest(${owners}::uuid[], ${transactions}::xid8[], ${ids}::uuid[])
      as owner (id, transaction_id, entry_id), lateral (
      select transaction_id, entry_id from audit_queue
      where ${isClaimable} and (user_id, transaction_id, entry_id)
          >= (owner.id, owner.transaction_id, owner.entry_id)
        and user_id <= owner.id
      order by user_id, ${inOrder} limit ${share} for update skip locked
    ) as turn`.execute(tx);
  return rows;
}

interface Lease {
  readonly claimId: string;
  readonly ids: readonly string[];
}

/** Leases entries that the transaction has locked. */
const lease = compileOnce(({ claimId, ids }: Lease, db) =>
  db
    .updateTable('audit_queue')
    .from('audit_log')
    .set({
      claim_id: claimId,
      claimed_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
    })
    .where('entry_id', '=', sql<string>`any(${ids}::uuid[])`)
    .whereRef('audit_log.id', '=', 'audit_queue.entry_id')
    .returning([...comparedColumns, sendableText.as('text')])
    .compile(),
);

/** Returns the next turns of the owners who had `share` entries, from the last of these on. */
function nextTurns(locked: readonly Turn[], share: number): Turn[] {
  const entriesOf = Map.groupBy(locked, ({ ownerId }) => ownerId);
  return [...entriesOf.values()].flatMap((entries) =>
    entries.length === share ? entries.slice(-1) : [],
  );
}
