import type { Selectable } from 'kysely';
import type { z } from 'zod';
import type { Owner, Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import { AppError } from '../../errors/app-error.ts';
import type { DocumentView } from './schema.ts';

export type VersionRow = Selectable<Schema['document_versions']>;

/** A document in its current version. */
export type DocumentRow = VersionRow & {
  readonly revision: number;
  readonly document_created_at: Date;
};

/** A document as it is shown, and the number of its changes so far. */
export interface RevisedDocument {
  readonly document: z.input<typeof DocumentView>;
  readonly revision: number;
}

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

/** Throws document_sealed, with the proof of it, or document_expired. */
export function assertPending({ status, proof_id: proofId }: VersionRow): void {
  if (status === 'SEALED') {
    throw new AppError('document_sealed', { members: { proofId: proofId ?? '' } });
  }
  if (status === 'EXPIRED') throw new AppError('document_expired');
}

/** Changes the current version of a locked document. Answers the document as it is then. */
export async function changeCurrent(
  tx: Tx,
  row: DocumentRow,
  change: Partial<VersionRow>,
): Promise<DocumentRow> {
  await tx
    .updateTable('document_versions')
    .set(change)
    .where('document_id', '=', row.document_id)
    .where('version', '=', row.version)
    .execute();
  return revise(tx, { ...row, ...change });
}

/** Counts a change of a locked document, and makes the row's version the current one. */
export async function revise(tx: Tx, row: DocumentRow): Promise<DocumentRow> {
  const revision = row.revision + 1;
  await tx
    .updateTable('documents')
    .set({ version: row.version, revision })
    .where('id', '=', row.document_id)
    .execute();
  return { ...row, revision };
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

export function toRevised(row: DocumentRow): RevisedDocument {
  return { document: toView(row), revision: row.revision };
}
