import { randomInt } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';
import type { Seal } from '../../../signer/protocol/protocol.ts';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { lockActiveKey } from '../../signing-keys/active-key.ts';

const slots = 64;

/**
 * Builds the statement that ends the leases of the entries whose ids are given, if the condition
 * `mayEnd` holds, and returns the `entry_id` of those that were still leased.
 */
export type EndLeases = (
  ids: readonly string[],
  mayEnd: RawBuilder<boolean>,
) => RawBuilder<unknown>;

/** Seals by one key. */
export interface SignedEntries {
  readonly keyId: string;
  readonly seals: readonly Seal[];
}

/**
 * Stores seals, ends the leases of their entries and returns the ids of the entries that were
 * sealed. Stores nothing and returns undefined if the signing key is no longer active. Entries
 * whose lease was lost meanwhile are neither sealed nor returned.
 *
 * An active key stays locked until the transaction ends, so that it is not retired before. The
 * total of sealed entries is kept in 64 rows, one of which is chosen at random, so that sealers
 * seldom wait for the same row.
 */
export async function storeSeals(
  tx: Tx,
  { keyId, seals }: SignedEntries,
  endLeases: EndLeases,
): Promise<readonly string[] | undefined> {
  takesLock(tx, 'signing keys');
  const ids = column(seals, 'id');
  const { rows } = await sql<Stored>`
    with active as (${lockActiveKey(keyId)}),
    held as (${endLeases(ids, sql`exists (select from active)`)}),
    sealed as (
      insert into audit_seals (entry_id, hash, signature, key_id, sealed_at, late)
      select s.id, decode(s.hash, 'hex'), decode(s.signature, 'base64'), decode(${keyId}, 'hex'),
        s.sealed_at, s.late
      from unnest(
        ${ids}::uuid[], ${column(seals, 'hash')}::text[],
        ${column(seals, 'signature')}::text[], ${column(seals, 'sealedAt')}::timestamptz[],
        ${column(seals, 'late')}::boolean[]
      ) as s (id, hash, signature, sealed_at, late)
      where s.id in (select entry_id from held)
      on conflict do nothing
      returning entry_id
    ), counted as (
      insert into audit_totals (slot, sealed)
      select ${randomInt(slots)}, count(entry_id) from sealed having count(entry_id) > 0
      on conflict (slot) do update set sealed = audit_totals.sealed + excluded.sealed
    )
    select exists (select from active) as "isActive", array(select entry_id from sealed) as sealed
    `.execute(tx);
  const [stored] = rows;
  return stored?.isActive === true ? stored.sealed : undefined;
}

interface Stored {
  readonly isActive: boolean;
  readonly sealed: readonly string[];
}

function column<Name extends keyof Seal>(seals: readonly Seal[], name: Name): Seal[Name][] {
  return seals.map((seal) => seal[name]);
}
