import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { deletePages, rowsOfPage, untilNone } from '../../db/pages/delete-pages.ts';

/**
 * Returns the users among `userIds` with entries that are pending or in the dead-letter queue. No
 * entry of these users can be erased yet. An abandoned entry does not prevent the erasure.
 */
export async function findUnsealed(tx: Tx, userIds: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ readonly userId: string }>`
    select id as "userId" from unnest(${userIds}::uuid[]) as id
    where exists (select from audit_queue where user_id = id)
      or id in (select l.user_id from audit_dead_letters d join audit_log l on l.id = d.entry_id
        where d.status = 'PENDING')`.execute(tx);
  return new Set(rows.map(({ userId }) => userId));
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
 * signature, trail and `seq` stay, so that the log still verifies. Also removes the users' tallies
 * and downloads that are not entries yet. No statement changes more than 1,000 rows. The database
 * refuses the whole erasure if an entry of the users is pending or in the dead-letter queue.
 * Entries of months that are away are erased when these are attached. Returns the number of erased
 * entries.
 */
export async function eraseTraces(tx: Tx, userIds: readonly string[], now: Date): Promise<number> {
  await recordErasures(tx, userIds, now);
  const where = sql<boolean>`user_id = any(${userIds}::uuid[])`;
  await deletePages(tx, { table: 'audit_tallies', where });
  await deletePages(tx, { table: 'downloads', where });
  return untilNone(async () => {
    const { numAffectedRows } = await sql`
      update audit_log set canonical = null, erased_at = ${now} where id in (
        select id from audit_log where ${where} and erased_at is null
        limit ${rowsOfPage})`.execute(tx);
    return Number(numAffectedRows ?? 0);
  });
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
