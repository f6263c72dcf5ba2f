import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';

/**
 * Returns the users among `userIds` with entries that are pending or in the dead-letter queue. No
 * entry of these users can be erased yet. An abandoned entry does not prevent the erasure.
 */
export async function findUnsealed(tx: Tx, userIds: readonly string[]): Promise<Set<string>> {
  const pending = await tx
    .selectFrom('audit_queue')
    .select('user_id')
    .distinct()
    .where('user_id', 'in', userIds)
    .execute();
  const dead = await tx
    .selectFrom('audit_dead_letters')
    .innerJoin('audit_log', 'audit_log.id', 'audit_dead_letters.entry_id')
    .select('audit_log.user_id')
    .distinct()
    .where('audit_dead_letters.status', '=', 'PENDING')
    .where('audit_log.user_id', 'in', userIds)
    .execute();
  return new Set([...pending, ...dead].map(({ user_id: userId }) => userId));
}

/** Counts the entries that `eraseTraces` would erase. */
export async function countTraces(tx: Tx, userIds: readonly string[]): Promise<number> {
  const { count } = await tx
    .selectFrom('audit_log')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('user_id', 'in', userIds)
    .where('erased_at', 'is', null)
    .executeTakeFirstOrThrow();
  return count;
}

/**
 * Erases the text, with the salt in it, of every audit entry about these users for good. Hash,
 * signature and `seq` stay, so that the log still verifies. Also removes the users' sequence
 * counters, and their tallies and downloads that are not entries yet. The database refuses the
 * whole erasure if an entry of the users is pending or in the dead-letter queue. Entries of months
 * that are away are erased when these are attached. Returns the number of erased entries.
 */
export async function eraseTraces(tx: Tx, userIds: readonly string[], now: Date): Promise<number> {
  await recordErasures(tx, userIds, now);
  await tx.deleteFrom('audit_tallies').where('user_id', 'in', userIds).execute();
  await tx.deleteFrom('downloads').where('user_id', 'in', userIds).execute();
  await tx.deleteFrom('audit_sequences').where('user_id', 'in', userIds).execute();
  const { numUpdatedRows } = await tx
    .updateTable('audit_log')
    .set({ canonical: null, erased_at: now })
    .where('user_id', 'in', userIds)
    .where('erased_at', 'is', null)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/**
 * Records for the months that are away that the entries of these users are to be erased, unless the
 * user's id says that the user came later. No month leaves or returns until the transaction ends.
 */
async function recordErasures(tx: Tx, userIds: readonly string[], now: Date): Promise<void> {
  await sql`
    insert into audit_archive_erasures (month, user_id, recorded_at)
    select month, id, ${now}::timestamptz from audit_archives, unnest(${userIds}::uuid[]) as id
    where state <> 'ATTACHED'
      and month >= coalesce(to_char(uuid_extract_timestamp(id) at time zone 'UTC', 'YYYY-MM'), '')
    on conflict do nothing`.execute(tx);
}
