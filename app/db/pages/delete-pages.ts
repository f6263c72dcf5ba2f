import { sql, type RawBuilder } from 'kysely';
import type { Tx } from '../database.ts';
import type { TableSchema } from '../schema.ts';

/** Rows that one statement reads and changes at most. */
export const rowsOfPage = 1_000;

interface Rows {
  readonly table: keyof TableSchema;
  readonly where: RawBuilder<boolean>;
}

/**
 * Deletes up to `limit` matching rows of a table without partitions, or all of them. Resolves with
 * their number.
 */
export async function deletePage(
  tx: Tx,
  { table, where }: Rows,
  limit: number | undefined,
): Promise<number> {
  const name = sql.table(table);
  const { numAffectedRows } = await sql`
    delete from ${name} where ctid = any(array(
      select ctid from ${name} where ${where} limit ${limit ?? null} for update))`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

/**
 * Deletes the matching rows of a table without partitions, at most 1,000 with each statement.
 * Resolves with their number. The caller MUST prevent that rows are added all the time.
 */
export function deletePages(tx: Tx, rows: Rows): Promise<number> {
  return untilNone(() => deletePage(tx, rows, rowsOfPage));
}

/** Repeats a statement until it changes no row. Resolves with the number of changed rows. */
export async function untilNone(change: () => Promise<number>): Promise<number> {
  let sum = 0;
  for (;;) {
    const changed = await change();
    if (changed === 0) return sum;
    sum += changed;
  }
}
