import { sql } from 'kysely';
import type { Seal } from '../../signer/protocol.ts';
import type { Database } from '../db/database.ts';

/** An entry under the lease of one batch. */
export interface ClaimedEntry {
  readonly id: string;
  readonly text: string;
}

const leaseSeconds = 30;
const maxAttempts = 5;

/** The sealer's statements. Each is a transaction of its own; none is open while the HSM works. */
export interface SealerStore {
  claim(claimId: string, limit: number): Promise<ClaimedEntry[]>;
  /** First writer wins: rows that another batch sealed or claimed meanwhile stay as they are. */
  storeSeals(claimId: string, seals: readonly Seal[]): Promise<void>;
  /** Gives a batch back unsealed; no attempt is used up. */
  release(claimId: string): Promise<void>;
  /** Counts an attempt of an entry the signer refused for its own sake; the fifth is its last. */
  recordFault(claimId: string, entryId: string, reason: string): Promise<void>;
  /** Unsealed entries, counted up to `limit`. */
  countBacklog(limit: number): Promise<number>;
}

export function createSealerStore(db: Database): SealerStore {
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
          returning id, canonical as text`.execute(tx);
        return rows;
      }),

    storeSeals: (claimId, seals) =>
      db.asService(async (tx) => {
        await sql`
          update audit_entries e
          set state = 'SEALED', hash = s.hash, signature = s.signature, key_id = s.key_id,
            sealed_at = now(), claim_id = null, claimed_until = null
          from unnest(
            ${column(seals, 'id')}::uuid[], ${column(seals, 'hash')}::text[],
            ${column(seals, 'signature')}::text[], ${column(seals, 'keyId')}::text[]
          ) as s (id, hash, signature, key_id)
          where e.id = s.id and e.claim_id = ${claimId}::uuid and e.signature is null`.execute(tx);
      }),

    release: (claimId) =>
      db.asService(async (tx) => {
        await tx
          .updateTable('audit_entries')
          .set({ claim_id: null, claimed_until: null })
          .where('claim_id', '=', claimId)
          .where('state', '=', 'PENDING')
          .execute();
      }),

    recordFault: (claimId, entryId, reason) =>
      db.asService(async (tx) => {
        const entry = await tx
          .updateTable('audit_entries')
          .set({
            attempts: sql`attempts + 1`,
            state: sql`case when attempts + 1 >= ${maxAttempts} then 'DEAD' else 'PENDING' end`,
            claim_id: null,
            claimed_until: sql`now() + interval '1 second' * power(2, attempts)`,
          })
          .where('id', '=', entryId)
          .where('claim_id', '=', claimId)
          .returning(['attempts', 'state'])
          .executeTakeFirst();
        if (entry?.state !== 'DEAD') return;
        await tx
          .insertInto('audit_dead_letters')
          .values({ entry_id: entryId, reason, attempts: entry.attempts })
          .execute();
      }),

    countBacklog: (limit) =>
      db.asService(async (tx) => {
        const { rows } = await sql<{ count: number }>`
          select count(*) as count
          from (select 1 from audit_entries where state = 'PENDING' limit ${limit}) as unsealed`.execute(
          tx,
        );
        return rows[0]?.count ?? 0;
      }),
  };
}

function column(seals: readonly Seal[], name: keyof Seal): string[] {
  return seals.map((seal) => seal[name]);
}
