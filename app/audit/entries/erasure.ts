import type { Tx } from '../../db/database.ts';

/**
 * Returns those of the users who have entries that wait for a seal or for an operator, so that none
 * of their entries can be erased yet. An abandoned entry does not wait.
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
 * Erases text and salt of every entry about these users, for good. Hash, signature and `seq` stay,
 * so that the log still verifies. Removes the users' tallies that are not yet entries. The database
 * refuses all of it if an entry still waits. Returns the number of entries.
 */
export async function eraseTraces(tx: Tx, userIds: readonly string[], now: Date): Promise<number> {
  await tx.deleteFrom('audit_tallies').where('user_id', 'in', userIds).execute();
  await tx.deleteFrom('audit_sequences').where('user_id', 'in', userIds).execute();
  const { numUpdatedRows } = await tx
    .updateTable('audit_entries')
    .set({ canonical: null, erased_at: now })
    .where('user_id', 'in', userIds)
    .where('erased_at', 'is', null)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
