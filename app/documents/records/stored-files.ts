import type { Owner, Tx } from '../../db/database.ts';

/** The stored file of a version of a document. */
export interface StoredFile {
  readonly version: number;
  readonly storage_key: string;
  readonly object_version: string;
  /** Size in bytes. */
  readonly file_size: number;
  /** SHA3-256 of the stored ciphertext, hex. */
  readonly file_hash: string;
}

/** Lists the stored files of a document of the owner, by version. */
export function listStoredFiles(tx: Tx, owner: Owner, documentId: string): Promise<StoredFile[]> {
  return tx
    .selectFrom('document_versions')
    .select(['version', 'storage_key', 'object_version', 'file_size', 'file_hash'])
    .where('document_id', '=', documentId)
    .where('user_id', '=', owner.userId)
    .where('tenant_id', '=', owner.tenantId)
    .orderBy('version')
    .execute();
}
