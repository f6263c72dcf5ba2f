import { sql } from 'kysely';
import type { Tx } from './database.ts';

/**
 * Takes the advisory lock of a name until the transaction ends. Other transactions that lock the
 * same name wait.
 */
export async function lockName(tx: Tx, name: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${name}, 0))`.execute(tx);
}

/**
 * Takes the advisory lock of a name until the transaction ends, without waiting. Returns whether it
 * did.
 */
export async function tryLockName(tx: Tx, name: string): Promise<boolean> {
  const { rows } = await sql<{ readonly isLocked: boolean }>`
    select pg_try_advisory_xact_lock(hashtextextended(${name}, 0)) as "isLocked"`.execute(tx);
  return rows[0]?.isLocked === true;
}
