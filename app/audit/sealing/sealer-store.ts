import { sql, type RawBuilder } from 'kysely';
import type { Seal } from '../../../signer/protocol/protocol.ts';
import { atOnce, ofQueue, type Database, type Tx } from '../../db/database.ts';
import { rowMismatch, type ClaimedEntry, type SealFault } from './entry-signing.ts';
import { createQueueCursor, nextFrom, type QueueReading } from './queue-cursor.ts';
import { storeSeals } from './stored-seals.ts';
import { createTurns } from './turns.ts';

const maxAttempts = 5;
const stepAsideSeconds = 5;

/** The sealer's transactions. No transaction stays open while the HSM signs. */
export interface SealerStore {
  /**
   * Leases up to `limit` pending entries that are not leased. Owners take turns, so that the
   * backlog of one delays no other; of each owner the oldest entries come first.
   */
  claim(claimId: string, limit: number): Promise<readonly ClaimedEntry[]>;
  /**
   * Stores seals. The first writer wins: entries that another batch has sealed or leased meanwhile
   * are not changed. Stores nothing and resolves with false if the signing key is no longer active.
   */
  storeSeals(claimId: string, keyId: string, seals: readonly Seal[]): Promise<boolean>;
  /** Releases the lease of unsealed entries, without counting a failed attempt. */
  release(claimId: string, entryIds: readonly string[]): Promise<void>;
  /**
   * Releases the lease of an entry that may have made the signer fail. The entry cannot be leased
   * for 5 s, so that other entries are sealed first.
   */
  stepAside(claimId: string, entryId: string): Promise<void>;
  /** Resolves with whether any entry is pending, leased or not. */
  hasWaiting(): Promise<boolean>;
  /**
   * Counts a failed attempt that the entry itself caused. The fifth failure moves the entry to the
   * dead-letter queue, as does the first for a text that contradicts its row.
   */
  recordFault(claimId: string, fault: SealFault): Promise<void>;
}

export function createSealerStore(db: Database): SealerStore {
  const cursor = createQueueCursor();
  const claimInTurns = createTurns(cursor);

  function giveBack(
    claimId: string,
    entryIds: readonly string[],
    claimedUntil: RawBuilder<Date> | null,
  ): Promise<void> {
    return db.asService(async (tx) => {
      await tx
        .updateTable('audit_queue')
        .set({ claim_id: null, claimed_until: claimedUntil })
        .where('entry_id', 'in', entryIds)
        .where('claim_id', '=', claimId)
        .execute();
    });
  }

  return {
    async claim(claimId, limit) {
      const { leased } = await db.asService((tx) => claimInTurns(tx, claimId, limit), ofQueue);
      return leased;
    },

    storeSeals: async (claimId, keyId, seals) => {
      const stored = await db.asService(
        (tx) => storeSeals(tx, 'audit_queue', claimId, keyId, seals),
        atOnce,
      );
      return stored !== undefined;
    },

    release: (claimId, entryIds) => giveBack(claimId, entryIds, null),

    stepAside: (claimId, entryId) =>
      giveBack(claimId, [entryId], sql`now() + make_interval(secs => ${stepAsideSeconds})`),

    hasWaiting: () =>
      db.asService(async (tx) => {
        const { isWaiting } = await cursor.read((from) => readWaiting(tx, from));
        return isWaiting;
      }, ofQueue),

    recordFault: (claimId, fault) => db.asService((tx) => countFault(tx, claimId, fault)),
  };
}

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
async function countFault(tx: Tx, claimId: string, { id, reason }: SealFault): Promise<void> {
  const entry = await tx
    .updateTable('audit_queue')
    .set({
      attempts: sql`attempts + 1`,
      claim_id: null,
      claimed_until: sql`now() + interval '1 second' * power(2, attempts)`,
    })
    .where('entry_id', '=', id)
    .where('claim_id', '=', claimId)
    .returning('attempts')
    .executeTakeFirst();
  if (entry === undefined) return;
  const { attempts } = entry;
  if (attempts < (reason === rowMismatch ? 1 : maxAttempts)) return;
  await tx.deleteFrom('audit_queue').where('entry_id', '=', id).execute();
  await tx.insertInto('audit_dead_letters').values({ entry_id: id, reason, attempts }).execute();
}
