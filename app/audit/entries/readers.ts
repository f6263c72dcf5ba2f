import type { Database, Tx } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';

const roles: ReadonlySet<string> = new Set(['auditor', 'probatio_admin']);

/** Returns whether the caller may see the entries of all users, not just their own. */
export function readsAll(caller: Caller): boolean {
  return caller.roles.some((role) => roles.has(role));
}

/** Runs `read` in a transaction that sees only the entries that the caller may see. */
export function asReader<T>(
  db: Database,
  caller: Caller,
  read: (tx: Tx) => Promise<T>,
): Promise<T> {
  return readsAll(caller) ? db.asService(read) : db.asUser(caller, read);
}
