import { randomUUID } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';
import { atOnce, ofQueue, type Database, type Tx } from '../../db/database.ts';
import { rowMismatch, type SealFault } from './entry-signing.ts';
import { nextFrom, type QueueCursor, type QueueReading } from './queue-cursor.ts';
import { createSealStorage, type HeldLeases, type SignedEntries } from './stored-seals.ts';
import { createTurns, type QueuedEntry } from './turns.ts';

const maxAttempts = 5;
const stepAsideSeconds = 5;

/** The entries that one batch has leased. */
export interface Claim {
  readonly id: string;
  readonly entries: readonly QueuedEntry[];
}

/** The sealer's transactions. No transaction stays open while the HSM signs. */
export interface SealerStore {
  /**
   * Leases up to `limit` pending entries that are not leased. Owners take turns, so that the
   * backlog of one delays no other; of each owner the oldest entries come first.
   */
  claim(limit: number): Promise<Claim>;
  /**
   * Stores seals. The first writer wins: entries that another batch has sealed or leased meanwhile
   * are not changed. Stores nothing and resolves with false if the signing key is no longer active.
   */
  storeSeals(claim: Claim, signed: SignedEntries): Promise<boolean>;
  /** Releases the lease of the entries that are not sealed, without counting a failed attempt. */
  release(claim: Claim): Promise<void>;
  /**
   * Releases the lease of entries that may have made the signer fail. They cannot be leased for
   * 5 s, so that other entries are sealed first.
   */
  stepAside(claim: Claim): Promise<void>;
  /** Resolves with whether any entry is pending, leased or not. */
  hasWaiting(): Promise<boolean>;
  /**
   * Counts a failed attempt that the entry itself caused. The fifth failure moves the entry to the
   * dead-letter queue, as does the first for a text that contradicts its row.
   */
  recordFault(claim: Claim, fault: SealFault): Promise<void>;
}

export function createSealerStore(db: Database, cursor: QueueCursor): SealerStore {
  const claimInTurns = createTurns(cursor);

  function giveBack(claim: Claim, claimedUntil: RawBuilder<Date> | null): Promise<void> {
    return db.asService(async (tx) => {
      await tx
        .updateTable('audit_queue')
        .set({ claim_id: null, claimed_until: claimedUntil })
        .where(isLeased(leasesOf(claim, idsOf(claim.entries))))
        .execute();
    }, ofQueue);
  }

  return {
    async claim(limit) {
      const id = randomUUID();
      const { leased } = await db.asService((tx) => claimInTurns(tx, id, limit), ofQueue);
      return { id, entries: await leased };
    },

    async storeSeals(claim, signed) {
      const stored = await db.asService(
        (tx) => storeSeals(tx, signed, leasesOf(claim, idsOf(signed.seals))),
        { ...ofQueue, ...atOnce },
      );
      return stored !== undefined;
    },

    release: (claim) => giveBack(claim, null),

    stepAside: (claim) => giveBack(claim, sql`now() + make_interval(secs => ${stepAsideSeconds})`),

    hasWaiting: () =>
      db.asService(async (tx) => {
        const { isWaiting } = await cursor.read((from) => readWaiting(tx, from));
        return isWaiting;
      }, ofQueue),

    recordFault: (claim, fault) => db.asService((tx) => countFault(tx, claim, fault), ofQueue),
  };
}

/** Leases, and the places of the leased rows of the queue. */
interface Leases extends HeldLeases {
  readonly ids: readonly string[];
  readonly places: readonly string[];
}

/** Returns the leases of the entries among `ids` that the claim holds. */
function leasesOf({ id: claimId, entries }: Claim, ids: readonly string[]): Leases {
  const chosen = new Set(ids);
  const places = entries.filter(({ id }) => chosen.has(id)).map(({ place }) => place);
  return { claimId, ids, places };
}

/**
 * Returns the condition of the rows whose leases are still held. A statement finds them by their
 * places, whatever else the queue keeps: Postgres often takes the queue to be empty, and then any
 * of its indexes to be good. The ids are compared because `vacuum full` moves rows to the places of
 * others; `is true` keeps indexes from being used for them.
 */
function isLeased({ claimId, ids, places }: Leases): RawBuilder<boolean> {
  return sql`ctid = any(${places}::tid[]) and claim_id = ${claimId}::uuid
    and (entry_id = any(${ids}::uuid[])) is true`;
}

const storeSeals = createSealStorage<Omit<Leases, 'ids'>>(
  (leases, mayEnd) =>
    sql`delete from audit_queue where ${isLeased(leases)} and ${mayEnd} returning entry_id`,
);

async function readWaiting(
  tx: Tx,
  from: string,
): Promise<QueueReading & { readonly isWaiting: boolean }> {
  return tx
    .selectNoFrom([
      nextFrom(from).as('next'),
      sql<boolean>`exists (
        select from audit_queue where transaction_id >= ${from}::xid8)`.as('isWaiting'),
    ])
    .executeTakeFirstOrThrow();
}

/**
 * Counts a failed attempt and delays the next one; after `maxAttempts` the entry leaves the queue
 * as a dead letter.
 */
async function countFault(tx: Tx, claim: Claim, { id, reason }: SealFault): Promise<void> {
  const entry = await tx
    .updateTable('audit_queue')
    .set({
      attempts: sql`attempts + 1`,
      claim_id: null,
      claimed_until: sql`now() + interval '1 second' * power(2, attempts)`,
    })
    .where(isLeased(leasesOf(claim, [id])))
    .returning(['attempts', sql<string>`ctid::text`.as('place')])
    .executeTakeFirst();
  if (entry === undefined) return;
  const { attempts, place } = entry;
  if (attempts < (reason === rowMismatch ? 1 : maxAttempts)) return;
  await tx
    .deleteFrom('audit_queue')
    .where(sql<boolean>`ctid = ${place}::tid`)
    .execute();
  await tx.insertInto('audit_dead_letters').values({ entry_id: id, reason, attempts }).execute();
}

function idsOf(entries: readonly { readonly id: string }[]): string[] {
  return entries.map(({ id }) => id);
}
