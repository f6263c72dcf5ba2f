import type { Owner, Tx } from '../../db/database.ts';
import { loadOwner } from '../records/document-rows.ts';
import type { StoredFile } from './file-check.ts';

/** The columns of `document_versions` that a check needs. */
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
