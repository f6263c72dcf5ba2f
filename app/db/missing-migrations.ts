import { sql } from 'kysely';
import type { Tx } from './database.ts';

/** Postgres: no such table, and no right to read it, as before the first call of this version. */
const unreadable: ReadonlySet<string | undefined> = new Set(['42P01', '42501']);

/**
 * Returns which of the named migrations a database lacks, in their order: all, if there is no list
 * of migrations that the login may read. More migrations in the database are fine. The transaction
 * must do nothing else, since it may fail.
 */
export async function findMissing(
  run: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
  names: readonly string[],
): Promise<readonly string[]> {
  try {
    const { rows } = await run((tx) =>
      sql<{ readonly name: string }>`select name from migrations`.execute(tx),
    );
    const done = new Set(rows.map(({ name }) => name));
    return names.filter((name) => !done.has(name));
  } catch (error) {
    if (!(error instanceof Error) || !unreadable.has((error as { code?: string }).code)) {
      throw error;
    }
    return names;
  }
}
