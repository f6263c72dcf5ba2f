import { randomInt } from 'node:crypto';
import { sql } from 'kysely';
import type { Seal } from '../../../signer/protocol/protocol.ts';
import type { Tx } from '../../db/database.ts';
import { holdActiveKey } from '../../signing-keys/active-key.ts';

const slots = 64;

/**
 * Stores seals and returns the ids of the entries that were sealed. Stores nothing and returns
 * undefined if the signing key is no longer active. The first writer wins: entries that another
 * batch has sealed or leased meanwhile are neither changed nor returned.
 */
export async function storeSeals(
  tx: Tx,
  claimId: string,
  keyId: string,
  seals: readonly Seal[],
): Promise<string[] | undefined> {
  if (!(await holdActiveKey(tx, keyId))) return undefined;
  const { rows } = await sql<{ readonly id: string }>`
    update audit_entries e
    set state = 'SEALED', hash = s.hash, signature = s.signature, key_id = ${keyId},
      sealed_at = s.sealed_at, late = s.late, claim_id = null, claimed_until = null
    from unnest(
      ${column(seals, 'id')}::uuid[], ${column(seals, 'hash')}::text[],
      ${column(seals, 'signature')}::text[], ${column(seals, 'sealedAt')}::timestamptz[],
      ${column(seals, 'late')}::boolean[]
    ) as s (id, hash, signature, sealed_at, late)
    where e.id = s.id and e.claim_id = ${claimId}::uuid and e.signature is null
    returning e.id`.execute(tx);
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
