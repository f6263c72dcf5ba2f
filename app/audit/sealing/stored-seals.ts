import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { Seal } from '../../../signer/protocol/protocol.ts';
import type { Tx } from '../../db/database.ts';
import { holdActiveKey } from '../../signing-keys/active-key.ts';

const slots = 64;

/** The table whose rows hold the leases of the entries that are sealed. */
export type LeasedIn = 'audit_queue' | 'audit_dead_letters';

/** Ends the leases, and returns the ids of the entries that were still leased. */
const endLeases = {
  audit_queue: (claimId: string, ids: readonly string[]) => sql`
    delete from audit_queue
    where entry_id = any(${ids}::uuid[]) and claim_id = ${claimId}::uuid
    returning entry_id`,
  audit_dead_letters: (claimId: string, ids: readonly string[]) => sql`
    update audit_dead_letters set claim_id = null, claimed_until = null
    where entry_id = any(${ids}::uuid[]) and claim_id = ${claimId}::uuid and status = 'PENDING'
    returning entry_id`,
} satisfies Record<LeasedIn, unknown>;

/**
 * Stores seals, ends the leases of their entries and returns the ids of the entries that were
 * sealed. Stores nothing and returns undefined if the signing key is no longer active. Entries
 * whose lease was lost meanwhile are neither sealed nor returned.
 */
export async function storeSeals(
  tx: Tx,
  leasedIn: LeasedIn,
  claimId: string,
  keyId: string,
  seals: readonly Seal[],
): Promise<string[] | undefined> {
  if (!(await holdActiveKey(tx, keyId))) return undefined;
  const { rows } = await sql<{ readonly id: string }>`
    with held as (${endLeases[leasedIn](claimId, column(seals, 'id'))})
    insert into audit_seals (entry_id, hash, signature, key_id, sealed_at, late)
    select s.id, decode(s.hash, 'hex'), decode(s.signature, 'base64'), decode(${keyId}, 'hex'),
      s.sealed_at, s.late
    from unnest(
      ${column(seals, 'id')}::uuid[], ${column(seals, 'hash')}::text[],
      ${column(seals, 'signature')}::text[], ${column(seals, 'sealedAt')}::timestamptz[],
      ${column(seals, 'late')}::boolean[]
    ) as s (id, hash, signature, sealed_at, late)
    where s.id in (select entry_id from held)
    on conflict do nothing
    returning entry_id as id`.execute(tx);
  if (rows.length > 0) await addToTotal(tx, rows.length);
  return rows.map(({ id }) => id);
}

/**
 * Adds to the total of sealed entries in one of 64 rows, chosen at random, so that sealers seldom
 * wait for the same row.
 */
async function addToTotal(tx: Tx, sealed: number): Promise<void> {
  await tx
    .insertInto('audit_totals')
    .values({ slot: randomInt(slots), sealed })
    .onConflict((conflict) =>
      conflict.column('slot').doUpdateSet({ sealed: sql`audit_totals.sealed + excluded.sealed` }),
    )
    .execute();
}

function column<Name extends keyof Seal>(seals: readonly Seal[], name: Name): Seal[Name][] {
  return seals.map((seal) => seal[name]);
}
