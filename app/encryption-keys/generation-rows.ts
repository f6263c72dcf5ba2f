import { sql, type Selectable } from 'kysely';
import type { Tx } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import type { Escrow } from './escrow.ts';

/** Seconds within which every process has learned of a new generation, so that it may be used. */
export const leadSeconds = 15;

type Row = Selectable<Schema['encryption_keys']>;

/** A registered generation; `isUsable` states that new values may be encrypted with it. */
export type RegisteredGeneration = Row & { readonly isUsable: boolean };

/** Lists the registered generations, oldest first. */
export function listGenerations(tx: Tx): Promise<RegisteredGeneration[]> {
  return tx
    .selectFrom('encryption_keys')
    .select(['generation', 'check_value', 'escrow', 'escrow_key', 'usable_at', 'created_at'])
    .select(sql<boolean>`usable_at <= now()`.as('isUsable'))
    .orderBy('generation')
    .execute();
}

/** Returns the seconds since the newest usable generation came into use; undefined without one. */
export async function readNewestAge(tx: Tx): Promise<number | undefined> {
  const { age } = await tx
    .selectFrom('encryption_keys')
    .select(
      sql<number | null>`extract(epoch from clock_timestamp() - max(usable_at))::float8`.as('age'),
    )
    .where(sql<boolean>`usable_at <= now()`)
    .executeTakeFirstOrThrow();
  return age ?? undefined;
}

interface NewGeneration {
  readonly generation: number;
  readonly checkValue: string;
  readonly escrow: Escrow | undefined;
  /** Whether new values may be encrypted at once, since no process can use an earlier key. */
  readonly isUsable: boolean;
}

/** Registers a generation. Resolves with false if it is registered already. */
export async function insertGeneration(
  tx: Tx,
  { generation, checkValue, escrow, isUsable }: NewGeneration,
): Promise<boolean> {
  const { numInsertedOrUpdatedRows: inserted } = await tx
    .insertInto('encryption_keys')
    .values({
      generation,
      check_value: checkValue,
      escrow: escrow?.text ?? null,
      escrow_key: escrow?.publicKey ?? null,
      usable_at: sql`now() + make_interval(secs => ${isUsable ? 0 : leadSeconds})`,
    })
    .onConflict((conflict) => conflict.column('generation').doNothing())
    .executeTakeFirstOrThrow();
  return inserted === 1n;
}

/** Stores the escrow of a generation, in place of one for another public key. */
export async function storeEscrow(
  tx: Tx,
  generation: number,
  { text, publicKey }: Escrow,
): Promise<void> {
  await tx
    .updateTable('encryption_keys')
    .set({ escrow: text, escrow_key: publicKey })
    .where('generation', '=', generation)
    .execute();
}
