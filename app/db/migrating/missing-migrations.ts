import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Database } from '../database.ts';
import { migrationNames } from './migration-names.ts';
import { hasState } from '../pg-error.ts';

const noSuchTable = '42P01';
const noRight = '42501';

/**
 * Returns which migrations a database lacks, in their order: all, if it was never migrated. Further
 * migrations in the database are fine: those of a later release. Throws database_unavailable if the
 * database is away, and the error of Postgres if the app login may not read the list.
 */
export async function findMissing(db: Pick<Database, 'asUser'>): Promise<readonly string[]> {
  try {
    // The transaction does nothing else, since it may fail.
    const { rows } = await db.asUser({ userId: randomUUID(), tenantId: '' }, (tx) =>
      sql<{ readonly name: string }>`select name from migrations`.execute(tx),
    );
    const done = new Set(rows.map(({ name }) => name));
    return migrationNames.filter((name) => !done.has(name));
  } catch (error) {
    if (hasState(error, noSuchTable)) return migrationNames;
    throw error;
  }
}

/** Returns whether an error says that the login may not read the list of migrations. */
export function lacksRight(error: unknown): boolean {
  return hasState(error, noRight);
}
