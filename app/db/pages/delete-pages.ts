import { sql, type RawBuilder } from 'kysely';
import type { Tx } from '../database.ts';
import type { TableSchema } from '../schema.ts';

/** Rows that one statement reads and changes at most. */
export const rowsOfPage = 1_000;

interface Rows<Table extends keyof TableSchema> {
  readonly table: Table;
  /** The columns of the primary key. */
  readonly key: readonly (keyof TableSchema[Table] & string)[];
  readonly where: RawBuilder<boolean>;
}

/**
 * Deletes the matching rows, at most 1,000 with each statement. Resolves with their number. The
 * caller MUST prevent that rows are added all the time.
 */
export function deletePages<Table extends keyof TableSchema>(
  tx: Tx,
  { table, key, where }: Rows<Table>,
): Promise<number> {
  const [name, columns] = [sql.table(table), sql.join(key.map((column) => sql.ref(column)))];
  return untilNone(async () => {
    const { numAffectedRows } = await sql`
      delete from ${name} where (${columns}) in (
        select ${columns} from ${name} where ${where} limit ${rowsOfPage})`.execute(tx);
    return Number(numAffectedRows ?? 0);
  });
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
