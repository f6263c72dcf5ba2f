import { sql, type SelectQueryBuilder } from 'kysely';
import type { Tx } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import type { Encrypted, RowCipher, RowName, Stored } from './row-cipher.ts';

/** A row whose values are not encrypted with the current generation. */
interface StaleRow<Column extends string> extends Stored<Column> {
  readonly row: RowName;
}

/** A table with encrypted values, as the feature that owns the table finds and stores them. */
export interface EncryptedTable<Column extends string = string> {
  /**
   * Locks at most `limit` rows whose values are encrypted with one of the generations `earlier`, or
   * should be and are not. Skips rows that another transaction has locked.
   */
  lockStale(
    tx: Tx,
    earlier: readonly number[],
    limit: number,
  ): Promise<readonly StaleRow<Column>[]>;
  /** Counts all such rows. */
  countStale(tx: Tx, earlier: readonly number[]): Promise<number>;
  /** Stores the values of a locked row, and their generation. */
  store(tx: Tx, row: RowName, encrypted: Encrypted<Column>): Promise<void>;
}

/** Resolves with the number of rows that a query selects. */
export async function countRows<Table extends keyof Schema>(
  query: SelectQueryBuilder<Schema, Table, object>,
): Promise<number> {
  const { count } = await query
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}

/** Returns the SQL condition of the rows that `lockStale` locks. */
export function isStale(earlier: readonly number[]) {
  return sql<boolean>`(key_generation is null or key_generation = any(${earlier}::int[]))`;
}

/**
 * Encrypts at most `limit` rows of a table with the current generation. Readers see the row as it
 * was or as it will be, and can decrypt both. Leaves out rows whose key is lost. Resolves with the
 * number of rows. Throws signer_unavailable if this process has no key.
 */
export async function reencryptRows<Column extends string>(
  tx: Tx,
  cipher: RowCipher,
  table: EncryptedTable<Column>,
  limit: number,
): Promise<number> {
  const rows = await table.lockStale(tx, cipher.earlierGenerations(), limit);
  for (const { row, ...stored } of rows) {
    await table.store(tx, row, cipher.encrypt(row, cipher.decrypt(row, stored)));
  }
  return rows.length;
}
