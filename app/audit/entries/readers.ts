import { sql } from 'kysely';
import { isInReach, reachOf } from '../../accounts/reach.ts';
import { firstIdOf } from '../../audit-trail/first-id.ts';
import type { Database, Options, Tx } from '../../db/database.ts';
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
  options?: Options,
): Promise<T> {
  return caller === wholeLog || reachOf(caller, 'audit') !== undefined
    ? db.asService(read, options)
    : db.asUser(caller, read, options);
}

const dayMs = 86_400_000;

/** Selects the entries that the caller may see: their own, or for auditors those in reach. */
export function selectReadable(tx: Tx, caller: EntryReader) {
  const entries = tx
    .selectFrom('audit_entries')
    .where('id', '<', sql<string>`${sql.lit(endOfLog())}::uuid`);
  if (caller === wholeLog) return entries;
  const reach = reachOf(caller, 'audit');
  if (reach !== undefined) return entries.where(isInReach(reach));
  return entries.where('user_id', '=', caller.userId).where('tenant_id', '=', caller.tenantId);
}

/**
 * Returns an id that is above those of all entries: the first of a month. As a literal in a
 * statement it keeps the partitions of later months, which are empty, out of the plan: with them
 * Postgres sorts all entries of a user rather than read the newest by the index.
 */
function endOfLog(): string {
  // The clocks of processes differ by seconds.
  const soon = new Date(Date.now() + dayMs);
  return firstIdOf(new Date(Date.UTC(soon.getUTCFullYear(), soon.getUTCMonth() + 1)));
}
