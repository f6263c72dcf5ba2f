import { isInReach, reachOf } from '../../accounts/reach.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';

/** The reader that sees the entries of all users, for maintenance. */
export const wholeLog = 'whole log';

/** A reader of entries: a caller, a job on behalf of a user, or maintenance. */
export type EntryReader = Pick<Caller, 'userId' | 'tenantId' | 'roles'> | typeof wholeLog;

/**
 * Runs `read` in a transaction that can see the entries of other users if the caller may. `read`
 * MUST query entries by `selectReadable`.
 */
export function asReader<T>(
  db: Database,
  caller: EntryReader,
  read: (tx: Tx) => Promise<T>,
): Promise<T> {
  if (caller === wholeLog) return db.asService(read);
  return reachOf(caller, 'audit') === undefined ? db.asUser(caller, read) : db.asService(read);
}

/** Selects the entries that the caller may see: their own, or for auditors those in reach. */
export function selectReadable(tx: Tx, caller: EntryReader) {
  const entries = tx.selectFrom('audit_entries');
  if (caller === wholeLog) return entries;
  const reach = reachOf(caller, 'audit');
  if (reach !== undefined) return entries.where(isInReach(reach));
  const { userId, tenantId } = caller;
  // This range repeats the condition of row-level security, so that the planner expects few rows
  // and does not scan the entries of all users.
  return entries
    .where('user_id', '>=', userId)
    .where('user_id', '<=', userId)
    .where('tenant_id', '=', tenantId);
}
