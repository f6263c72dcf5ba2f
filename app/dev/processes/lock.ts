import { DatabaseSync } from 'node:sqlite';

/** A lock that is held until `release`, or until the process that acquired it has ended. */
export interface Lock {
  release(): void;
}

/**
 * Acquires an exclusive lock on a file. The operating system releases the lock when this process
 * ends, so the lock does not depend on a process id, which may be stale or reused. Uses SQLite's
 * lock because Node has no flock. Blocks the thread for up to `waitMs`; returns undefined if
 * another process still holds the lock then.
 */
export function acquireLock(path: string, waitMs = 0): Lock | undefined {
  const database = new DatabaseSync(path, { timeout: waitMs });
  try {
    // No transaction ever writes to the database, so a journal file would be useless.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
  return { release: () => database.close() };
}

function isBusy(error: unknown): boolean {
  const sqliteBusy = 5;
  return error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy;
}
