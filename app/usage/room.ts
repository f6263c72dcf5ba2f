import type { Owner, Tx } from '../db/database.ts';
import { counters, quotaExceeded, type Counter, type Counts } from '../db/usage/quota.ts';

const none = Object.fromEntries(counters.map((counter) => [counter, 0])) as Counts;

/** Loads what an owner keeps, as counted by the triggers of the database. */
export async function loadUsage(tx: Tx, { userId, tenantId }: Owner): Promise<Counts> {
  const row = await tx
    .selectFrom('usage')
    .select([
      'open_uploads as openUploads',
      'storage_bytes as storageBytes',
      'uploads',
      'upload_parts as uploadParts',
      'documents',
      'metadata_bytes as metadataBytes',
      'keywords',
      'devices',
      'shares',
      'share_recipients as shareRecipients',
      'sync_objects as syncObjects',
      'sync_object_bytes as syncObjectBytes',
      'history_entries as historyEntries',
      'history_bytes as historyBytes',
      'kept_answers as keptAnswers',
      'kept_answer_bytes as keptAnswerBytes',
    ])
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  return row ?? none;
}

/**
 * Throws quota_exceeded if an owner cannot keep `added` more. Takes no lock, so it only refuses
 * early what the commit would refuse: use it before work outside of the database.
 */
export async function assertRoom(
  tx: Tx,
  owner: Owner,
  limits: Counts,
  added: Readonly<Partial<Record<Counter, number>>>,
): Promise<void> {
  const usage = await loadUsage(tx, owner);
  const exceeded = counters.flatMap((counter) => {
    const { [counter]: more = 0 } = added;
    const [used, limit] = [usage[counter], limits[counter]];
    return more > 0 && used + more > limit ? [{ counter, used, limit }] : [];
  });
  if (exceeded.length > 0) throw quotaExceeded(exceeded);
}
