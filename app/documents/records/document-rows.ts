import type { Selectable } from 'kysely';
import type { z } from 'zod';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import type { Owner, Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import { takesLock } from '../../db/lock-order.ts';
import { AppError } from '../../errors/app-error.ts';
import type { DocumentView } from './schema.ts';

export type VersionRow = Selectable<Schema['document_versions']>;

/** A document together with its current version. */
export type DocumentRow = VersionRow & {
  readonly revision: number;
  readonly document_created_at: Date;
};

/** A document as the API returns it, and its revision, which each change increments. */
export interface RevisedDocument {
  readonly document: z.input<typeof DocumentView>;
  readonly revision: number;
}

/** Selects documents together with their current versions. */
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

/** Loads a document in its current version. Throws not_found. */
export async function loadDocument(tx: Tx, id: string): Promise<DocumentRow> {
  const row = await selectDocuments(tx).where('documents.id', '=', id).executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/**
 * Locks a document's row for the rest of `tx`, and returns the document with its current version.
 * Throws not_found.
 * @param reach the documents that an administrator may lock in a transaction of the service login;
 * without it, `tx` must be a transaction of the app login, which shows only the caller's own.
 */
export async function lockDocument(tx: Tx, id: string, reach?: Reach): Promise<DocumentRow> {
  takesLock(tx, 'document');
  // Lock first, then read: a single statement with a join could return the version that was current
  // before it waited for the lock.
  const query = tx.selectFrom('documents').select('id').where('id', '=', id).forUpdate();
  const locked = await (
    reach === undefined ? query : query.where(isInReach(reach))
  ).executeTakeFirst();
  // Recipients of a shared document can see the document's row but not lock it: they get not_found.
  if (locked === undefined) throw new AppError('not_found');
  return loadDocument(tx, id);
}

/**
 * Throws document_sealed, with the id of the audit proof, if a version is sealed, and
 * document_expired if it has expired.
 */
export function assertPending({ status, proof_id: proofId }: VersionRow): void {
  if (status === 'SEALED') {
    throw new AppError('document_sealed', { members: { proofId: proofId ?? '' } });
  }
  if (status === 'EXPIRED') throw new AppError('document_expired');
}

/** Changes the current version of a locked document. Returns the changed document. */
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

/** Makes the row's version the current one of a locked document, and increments its revision. */
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
