import { sql } from 'kysely';
import type { Tx } from '../database.ts';
import { migrationNames } from '../migrating/migration-names.ts';
import { readTableFacts } from './table-facts.ts';

/**
 * Returns which of some tables and views a later release has made, as far as they keep rows apart:
 * row-level security is forced on a table, and a view reads as its caller. The names are of the
 * schema public. Call it after the names were read, so that their migration can be seen too.
 */
export async function findLaterTables(
  tx: Tx,
  names: readonly string[],
): Promise<readonly string[]> {
  if (names.length === 0 || !(await isOfLaterRelease(tx))) return [];
  const facts = await readTableFacts(tx);
  return facts
    .filter(({ name }) => names.includes(name))
    .filter(({ isEnabled, isForced, isInvoker }) => (isEnabled && isForced) || isInvoker)
    .map(({ name }) => name);
}

/** Returns whether the list of migrations, which only the owner writes, has one unknown here. */
async function isOfLaterRelease(tx: Tx): Promise<boolean> {
  const readable = await sql<{ readonly isReadable: boolean }>`
    select coalesce(has_table_privilege(to_regclass('public.migrations'), 'select'), false)
      as "isReadable"`.execute(tx);
  // A statement that fails would end the transaction.
  if (readable.rows[0]?.isReadable !== true) return false;
  const { rows } = await sql<{ readonly name: string }>`select name from migrations`.execute(tx);
  return rows.some(({ name }) => !migrationNames.includes(name));
}
