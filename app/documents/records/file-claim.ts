import type { Database, Tx } from '../../db/database.ts';
import { violatesUnique } from '../../db/pg-error.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import { unlessAborted } from '../../http/requests/hang-up.ts';
import type { CompletedFile, Uploads } from '../../uploads/uploads.ts';
import type { VersionRow } from './document-rows.ts';

/**
 * The completed upload at a path, hashed: of a large one that may take minutes, and goes on when
 * `hangUp` ends the wait. Throws stored_file_not_found.
 */
export async function findFile(
  uploads: Uploads,
  caller: Caller,
  storagePath: string,
  hangUp?: AbortSignal,
): Promise<CompletedFile> {
  const hashed = uploads.findCompleted(caller, storagePath);
  const file = await (hangUp === undefined ? hashed : unlessAborted(hashed, hangUp));
  if (file === undefined) throw new AppError('stored_file_not_found');
  return file;
}

/** One version a file, and none of a file that is going. Throws stored_file_not_found. */
export async function insertVersion(tx: Tx, uploads: Uploads, row: VersionRow): Promise<void> {
  const isThere = await uploads.hold(tx, row.storage_key);
  const taken = await tx
    .selectFrom('document_versions')
    .select('document_id')
    .where('storage_key', '=', row.storage_key)
    .executeTakeFirst();
  if (!isThere || taken !== undefined) throw new AppError('stored_file_not_found');
  await tx.insertInto('document_versions').values(row).execute();
}

/** A transaction of the caller's that inserts a version. Throws duplicate_hash. */
export async function claimingFile<T>(
  db: Database,
  caller: Caller,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  try {
    return await db.asUser(caller, work);
  } catch (error) {
    throw violatesUnique(error, 'document_versions_hash')
      ? new AppError('duplicate_hash', { cause: error })
      : error;
  }
}

/** A version as it begins: pending. */
export function versionOf(
  file: CompletedFile,
  caller: Caller,
  what: { documentId: string; version: number; encryptedMetadata: string; createdAt: Date },
): VersionRow {
  return {
    document_id: what.documentId,
    version: what.version,
    user_id: caller.userId,
    tenant_id: caller.tenantId,
    storage_key: file.storageKey,
    object_version: file.objectVersion,
    file_size: file.fileSize,
    file_hash: file.fileHash,
    encrypted_metadata: what.encryptedMetadata,
    status: 'PENDING',
    created_at: what.createdAt,
    sealed_at: null,
    proof_id: null,
  };
}
