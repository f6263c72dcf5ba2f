import type { Tx } from '../../db/database.ts';
import { violatesUnique } from '../../db/pg-error.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import { unlessAborted } from '../../http/requests/hang-up.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { CompletedFile, Uploads } from '../../uploads/uploads.ts';
import { ownerOf, type VersionRow } from './document-rows.ts';

/**
 * Returns the completed upload at a storage path, with the hash of its file. Hashing a large file
 * may take minutes. If the client hangs up during the wait, throws client_gone, and the hashing
 * continues in the background. Throws stored_file_not_found.
 */
export async function findFile(
  uploads: Uploads,
  { caller, hangUp }: ServiceRequest,
  storagePath: string,
): Promise<CompletedFile> {
  const hashed = uploads.findCompleted(caller, storagePath);
  const file = await (hangUp === undefined ? hashed : unlessAborted(hashed, hangUp));
  if (file === undefined) throw new AppError('stored_file_not_found');
  return file;
}

/**
 * Inserts a version of a document. Throws stored_file_not_found if another version already uses the
 * file, or if the file has been removed.
 */
export async function insertVersion(tx: Tx, uploads: Uploads, row: VersionRow): Promise<void> {
  const isHeld = await uploads.use(tx, ownerOf(row), row.storage_key);
  const taken = await tx
    .selectFrom('document_versions')
    .select('document_id')
    .where('storage_key', '=', row.storage_key)
    .where('user_id', '=', row.user_id)
    .where('tenant_id', '=', row.tenant_id)
    .executeTakeFirst();
  if (!isHeld || taken !== undefined) throw new AppError('stored_file_not_found');
  await tx.insertInto('document_versions').values(row).execute();
}

/**
 * Runs a transaction that inserts a version. Throws duplicate_hash if the owner already has a
 * version with the hash of its file.
 */
export async function refusingDuplicates<T>(insertsVersion: () => Promise<T>): Promise<T> {
  try {
    return await insertsVersion();
  } catch (error) {
    throw violatesUnique(error, 'document_versions_hash')
      ? new AppError('duplicate_hash', { cause: error })
      : error;
  }
}

interface NewVersion {
  readonly documentId: string;
  readonly version: number;
  readonly encryptedMetadata: string;
  readonly contentCommitment: string | undefined;
  readonly createdAt: Date;
}

/** Returns the row of a new version with the status PENDING. */
export function versionOf(
  file: CompletedFile,
  caller: Caller,
  { documentId, version, encryptedMetadata, contentCommitment, createdAt }: NewVersion,
): VersionRow {
  return {
    document_id: documentId,
    version,
    user_id: caller.userId,
    tenant_id: caller.tenantId,
    storage_key: file.storageKey,
    object_version: file.objectVersion,
    file_size: file.fileSize,
    file_hash: file.fileHash,
    encrypted_metadata: encryptedMetadata,
    status: 'PENDING',
    created_at: createdAt,
    sealed_at: null,
    proof_id: null,
    content_commitment: contentCommitment ?? null,
  };
}
