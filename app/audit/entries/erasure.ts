import type { Tx } from '../../db/database.ts';

/**
 * Returns the users among `userIds` with entries that are pending or in the dead-letter queue. No
 * entry of these users can be erased yet. An abandoned entry does not prevent the erasure.
 */
export async function findUnsealed(tx: Tx, userIds: readonly string[]): Promise<Set<string>> {
  const rows = await tx
    .selectFrom('audit_entries')
    .select('user_id')
    .distinct()
    .where('user_id', 'in', userIds)
    .where('state', 'in', ['PENDING', 'DEAD'])
    .execute();
  return new Set(rows.map(({ user_id: userId }) => userId));
}

/** Counts the entries that `eraseTraces` would erase. */
export async function countTraces(tx: Tx, userIds: readonly string[]): Promise<number> {
  const { count } = await tx
    .selectFrom('audit_entries')
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
 * whole erasure if an entry of the users is pending or in the dead-letter queue. Returns the number
 * of erased entries.
 */
export async function eraseTraces(tx: Tx, userIds: readonly string[], now: Date): Promise<number> {
  await tx.deleteFrom('audit_tallies').where('user_id', 'in', userIds).execute();
  await tx.deleteFrom('downloads').where('user_id', 'in', userIds).execute();
  await tx.deleteFrom('audit_sequences').where('user_id', 'in', userIds).execute();
  const { numUpdatedRows } = await tx
    .updateTable('audit_entries')
    .set({ canonical: null, erased_at: now })
    .where('user_id', 'in', userIds)
    .where('erased_at', 'is', null)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
