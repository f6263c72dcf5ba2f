import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';

/**
 * Returns the multipart upload ids of the open upload sessions with the given storage keys, by
 * storage key.
 */
export async function findOpenUploads(
  tx: Tx,
  keys: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (keys.length === 0) return new Map();
  const rows = await tx
    .selectFrom('upload_sessions')
    .select(['storage_key', 'storage_upload_id'])
    .where('storage_key', 'in', keys)
    .where('status', '=', 'IN_PROGRESS')
    .execute();
  return new Map(rows.map((row) => [row.storage_key, row.storage_upload_id]));
}

/**
 * Returns the given storage keys to which an open or completed upload session, a document version,
 * or the archive of an evidence export refers.
 */
export async function findFiles(tx: Tx, keys: readonly string[]): Promise<ReadonlySet<string>> {
  if (keys.length === 0) return new Set();
  const rows = await tx
    .selectFrom('upload_sessions')
    .select('storage_key')
    .where('storage_key', 'in', keys)
    .where('status', 'in', ['IN_PROGRESS', 'COMPLETED'])
    .union(
      tx.selectFrom('document_versions').select('storage_key').where('storage_key', 'in', keys),
    )
    .union(tx.selectFrom('evidence_exports').select('storage_key').where('storage_key', 'in', keys))
    .execute();
  return new Set(rows.map((row) => row.storage_key));
}

/** Locks the upload sessions with the given storage keys for the rest of `tx`. */
export async function lockSessionsOf(tx: Tx, keys: readonly string[]): Promise<void> {
  if (keys.length === 0) return;
  takesLock(tx, 'upload session');
  await tx
    .selectFrom('upload_sessions')
    .select('id')
    .where('storage_key', 'in', keys)
    .orderBy('id')
    .forUpdate()
    .execute();
}

/**
 * Returns whether any upload session or document version exists. If neither exists, an empty object
 * store is a new store, not one that lost its objects.
 */
export async function hasFiles(tx: Tx): Promise<boolean> {
  const upload = await tx.selectFrom('upload_sessions').select('id').limit(1).executeTakeFirst();
  if (upload !== undefined) return true;
  const version = await tx
    .selectFrom('document_versions')
    .select('document_id')
    .limit(1)
    .executeTakeFirst();
  return version !== undefined;
}
