import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Owner, Tx } from '../db/database.ts';
import type { Schema } from '../db/schema.ts';
import { AppError } from '../errors.ts';
import type { DocumentView } from './schema.ts';

export type VersionRow = Selectable<Schema['document_versions']>;

/** A document in its current version. */
export type DocumentRow = VersionRow & {
  readonly revision: number;
  readonly document_created_at: Date;
};

/** Documents in their current versions. */
export function selectDocuments(tx: Tx) {
  return tx
    .selectFrom('documents')
    .innerJoin('document_versions', (join) =>
      join
        .onRef('document_versions.document_id', '=', 'documents.id')
        .onRef('document_versions.version', '=', 'documents.version'),
    )
    .selectAll('document_versions')
    .select(['documents.revision', 'documents.created_at as document_created_at']);
}

/** Throws not_found. */
export async function loadDocument(tx: Tx, id: string): Promise<DocumentRow> {
  const row = await selectDocuments(tx).where('documents.id', '=', id).executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/** The document, locked until the transaction ends. Throws not_found. */
export async function lockDocument(tx: Tx, id: string): Promise<DocumentRow> {
  // First the lock, then what it protects: a join would hold on to the version it waited with.
  const locked = await tx
    .selectFrom('documents')
    .select('id')
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
  // Readers of a shared document see it and cannot lock it.
  if (locked === undefined) throw new AppError('not_found');
  return loadDocument(tx, id);
}

export function ownerOf(row: VersionRow): Owner {
  return { userId: row.user_id, tenantId: row.tenant_id };
}

export function toView(row: DocumentRow): z.input<typeof DocumentView> {
  return {
    id: row.document_id,
    userId: row.user_id,
    encryptedMetadata: row.encrypted_metadata,
    fileHash: row.file_hash,
    status: row.status,
    createdAt: row.document_created_at,
  };
}
