import { sql, type RawBuilder } from 'kysely';
import { maxEntryBytes, type Seal } from '../../../signer/protocol/protocol.ts';
import type { Database } from '../../db/database.ts';
import type { ClaimedEntry, SealFault } from './entry-signing.ts';
import { storeSeals } from './stored-seals.ts';

export const leaseSeconds = 30;
const maxAttempts = 5;
const stepAsideSeconds = 5;

/** The text as long as the signer takes it. */
export const sendableText: RawBuilder<string | null> = sql`
  case when octet_length(canonical) <= ${maxEntryBytes} then canonical end`;

/** The sealer's statements. Each is a transaction of its own; none is open while the HSM works. */
export interface SealerStore {
  claim(claimId: string, limit: number): Promise<ClaimedEntry[]>;
  /**
   * First writer wins: rows that another batch sealed or claimed meanwhile stay as they are. False,
   * and nothing stored, where the key that signed is active no more.
   */
  storeSeals(claimId: string, keyId: string, seals: readonly Seal[]): Promise<boolean>;
  /** Gives a batch back unsealed; no attempt is used up. */
  release(claimId: string, entryIds: readonly string[]): Promise<void>;
  /** The same for an entry that may be why the signer failed: others come first for a moment. */
  stepAside(claimId: string, entryId: string): Promise<void>;
  /** Whether any entry waits, claimed or not. */
  hasWaiting(): Promise<boolean>;
  /** Counts an attempt of an entry the signer refused for its own sake; the fifth is its last. */
  recordFault(claimId: string, fault: SealFault): Promise<void>;
}

export function createSealerStore(db: Database): SealerStore {
  function giveBack(
    claimId: string,
    entryIds: readonly string[],
    claimedUntil: RawBuilder<Date> | null,
  ): Promise<void> {
    return db.asService(async (tx) => {
      await tx
        .updateTable('audit_entries')
        .set({ claim_id: null, claimed_until: claimedUntil })
        .where('id', 'in', entryIds)
        .where('claim_id', '=', claimId)
        .execute();
    });
  }

  return {
    claim: (claimId, limit) =>
      db.asService(async (tx) => {
        const { rows } = await sql<ClaimedEntry>`
          update audit_entries
          set claim_id = ${claimId}::uuid, claimed_until = now() + make_interval(secs => ${leaseSeconds})
          where id in (
            select id from audit_entries
            where state = 'PENDING' and (claimed_until is null or claimed_until < now())
            order by id limit ${limit} for update skip locked
          )
          returning id, ${sendableText} as text`.execute(tx);
        return rows;
      }),

    storeSeals: async (claimId, keyId, seals) => {
      const stored = await db.asService((tx) => storeSeals(tx, claimId, keyId, seals));
      return stored !== undefined;
    },

    release: (claimId, entryIds) => giveBack(claimId, entryIds, null),

    stepAside: (claimId, entryId) =>
      giveBack(claimId, [entryId], sql`now() + make_interval(secs => ${stepAsideSeconds})`),

    hasWaiting: () =>
      db.asService(async (tx) => {
        const waiting = tx.selectFrom('audit_entries').select('id').where('state', '=', 'PENDING');
        return (await waiting.limit(1).executeTakeFirst()) !== undefined;
      }),

    recordFault: (claimId, { id, reason }) =>
      db.asService(async (tx) => {
        const isLast = sql<boolean>`attempts + 1 >= ${maxAttempts}`;
        const entry = await tx
          .updateTable('audit_entries')
          .set({
            attempts: sql`attempts + 1`,
            state: sql`case when ${isLast} then 'DEAD' else 'PENDING' end`,
            claim_id: null,
            claimed_until: sql`case when not ${isLast} then now() + interval '1 second' * power(2, attempts) end`,
          })
          .where('id', '=', id)
          .where('claim_id', '=', claimId)
          .returning(['attempts', 'state'])
          .executeTakeFirst();
        if (entry?.state !== 'DEAD') return;
        await tx
          .insertInto('audit_dead_letters')
          .values({ entry_id: id, reason, attempts: entry.attempts })
          .execute();
      }),
  };
}
