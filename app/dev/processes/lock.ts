import { DatabaseSync } from 'node:sqlite';

/** Held until `release`, or until the process that took it is gone, however it ended. */
export interface Lock {
  release(): void;
}

/**
 * An exclusive lock on a file, kept by the operating system: no process id to go stale or be reused.
 * (Node has no flock of its own; SQLite's is the one it ships with.)
 * Returns undefined when another process still holds it after `waitMs`, which blocks this process.
 */
export function acquireLock(path: string, waitMs = 0): Lock | undefined {
  const database = new DatabaseSync(path, { timeout: waitMs });
  try {
    // Nothing is ever written: a journal file would only lie about.
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
