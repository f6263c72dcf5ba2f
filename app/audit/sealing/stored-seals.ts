import { randomInt } from 'node:crypto';
import { sql, type RawBuilder } from 'kysely';
import type { Seal } from '../../../signer/protocol/protocol.ts';
import { compileOnce } from '../../db/compile-once.ts';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { lockActiveKey } from '../../signing-keys/active-key.ts';

const slots = 64;

/** Seals by one key. */
export interface SignedEntries {
  readonly keyId: string;
  readonly seals: readonly Seal[];
}

/** The leases of one batch. */
export interface HeldLeases {
  readonly claimId: string;
}

/**
 * Creates the function that stores seals, ends the leases of their entries and returns the ids of
 * the entries that were sealed. It stores nothing and returns undefined if the signing key is no
 * longer active. Entries whose lease was lost meanwhile are neither sealed nor returned.
 *
 * An active key stays locked until the transaction ends, so that it is not retired before. The
 * total of sealed entries is kept in 64 rows, one of which is chosen at random, so that sealers
 * seldom wait for the same row.
 * @param endLeases Returns the SQL that ends those leases of the entries `ids` which are still held
 * if the condition `mayEnd` is true, and returns their `entry_id`.
 */
export function createSealStorage<Held extends HeldLeases>(
  endLeases: (
    leases: Held & Pick<SealValues, 'ids'>,
    mayEnd: RawBuilder<boolean>,
  ) => RawBuilder<unknown>,
) {
  const store = compileOnce((values: Held & SealValues, db) =>
    storeWhile(endLeases(values, sql`exists (select from active)`), values).compile(db),
  );
  return async (
    tx: Tx,
    { keyId, seals }: SignedEntries,
    held: Held,
  ): Promise<readonly string[] | undefined> => {
    takesLock(tx, 'signing keys');
    const [stored] = await store(tx, { ...held, ...valuesOf(seals), keyId });
    return stored?.isActive === true ? stored.sealed : undefined;
  };
}

/** The values of the statement that stores seals: of each seal one element in each array. */
interface SealValues extends ReturnType<typeof valuesOf> {
  readonly keyId: string;
}

function valuesOf(seals: readonly Seal[]) {
  return {
    ids: column(seals, 'id'),
    hashes: column(seals, 'hash'),
    signatures: column(seals, 'signature'),
    sealedAt: column(seals, 'sealedAt'),
    late: column(seals, 'late'),
    slot: randomInt(slots),
  };
}

function column<Name extends keyof Seal>(seals: readonly Seal[], name: Name): Seal[Name][] {
  return seals.map((seal) => seal[name]);
}

interface Stored {
  readonly isActive: boolean;
  readonly sealed: readonly string[];
}

function storeWhile(held: RawBuilder<unknown>, values: SealValues): RawBuilder<Stored> {
  return sql<Stored>`
    with active as (${lockActiveKey(values.keyId)}),
    held as (${held}),
    sealed as (
      insert into audit_seals (entry_id, hash, signature, key_id, sealed_at, late)
      select s.id, decode(s.hash, 'hex'), decode(s.signature, 'base64'),
        decode(${values.keyId}, 'hex'), s.sealed_at, s.late
      from unnest(
        ${values.ids}::uuid[], ${values.hashes}::text[], ${values.signatures}::text[],
        ${values.sealedAt}::timestamptz[], ${values.late}::boolean[]
      ) as s (id, hash, signature, sealed_at, late)
      where s.id in (select entry_id from held)
      on conflict do nothing
      returning entry_id
    ), counted as (
      insert into audit_totals (slot, sealed)
      select ${values.slot}::int, count(entry_id) from sealed having count(entry_id) > 0
      on conflict (slot) do update set sealed = audit_totals.sealed + excluded.sealed
    )
    select exists (select from active) as "isActive",
      array(select entry_id from sealed) as sealed`;
}
