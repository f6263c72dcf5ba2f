import type { Owner, Tx } from '../../db/database.ts';
import { loadOwner, type VersionRow } from './document-rows.ts';

/** The stored object of a version, with the hash that the server computed at its upload. */
export type StoredFile = Pick<
  VersionRow,
  | 'document_id'
  | 'version'
  | 'user_id'
  | 'tenant_id'
  | 'storage_key'
  | 'object_version'
  | 'file_hash'
>;

/** The columns of a StoredFile. */
export const fileColumns = [
  'document_versions.document_id',
  'document_versions.version',
  'document_versions.user_id',
  'document_versions.tenant_id',
  'document_versions.storage_key',
  'document_versions.object_version',
  'document_versions.file_hash',
] as const;

/**
 * Returns the files of all versions of a document that the reader may read, oldest first. Throws
 * not_found.
 */
export async function loadFiles(tx: Tx, reader: Owner, id: string): Promise<StoredFile[]> {
  const { userId, tenantId, onlyVersion } = await loadOwner(tx, reader, id);
  const files = tx
    .selectFrom('document_versions')
    .select(fileColumns)
    .where('document_id', '=', id)
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .orderBy('version');
  return (onlyVersion === null ? files : files.where('version', '=', onlyVersion)).execute();
}
