import type { Client } from 'pg';
import { setTimeout as pause } from 'node:timers/promises';

/** Milliseconds for which requests may wait behind a statement that waits for a lock. */
export const lockTimeoutMs = 500;
/** Milliseconds in which requests go on before the owner asks for a lock again. */
const pauseMs = 1_000;
/** Milliseconds for which one migration, or one statement, asks for its locks. */
export const patienceMs = 600_000;

/** Runs `work` as a transaction in which a statement waits for a lock for half a second at most. */
export async function inTransaction<T>(client: Client, work: () => Promise<T>): Promise<T> {
  try {
    await client.query(`begin; set local lock_timeout = ${lockTimeoutMs}`);
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    // A failed rollback must not hide the error that caused it.
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}

/** Returns whether a lock was not available in time, or a deadlock was ended. */
const isOfLocks = (error: unknown) =>
  error instanceof Error && ['55P03', '40P01'].includes((error as { code?: string }).code ?? '');

/**
 * Does `work` again, after a pause, for as long as it does not get its locks, and throws its last
 * error once `patience` milliseconds have passed.
 */
export async function untilLocked<T>(patience: number, work: () => Promise<T>): Promise<T> {
  const endsAt = performance.now() + patience;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!isOfLocks(error) || performance.now() >= endsAt) throw error;
    }
    await pause(pauseMs);
  }
}
