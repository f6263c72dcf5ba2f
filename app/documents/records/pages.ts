import { sql } from 'kysely';
import type { z } from 'zod';
import type { Owner, Tx } from '../../db/database.ts';
import { pageBytes } from '../../http/responses/page.ts';
import { selectDocuments } from './document-rows.ts';
import type { DocumentList } from './schema.ts';

/**
 * A page of documents. `cursor` is the id of the last document on this page, or undefined if no
 * further page exists.
 */
export interface DocumentsPage {
  readonly documents: z.input<typeof DocumentList>;
  readonly cursor: string | undefined;
}

/**
 * Loads a page of the owner's documents, newest first. `ids` must be in this order and, if further
 * documents exist, contain one id more than `limit`.
 */
export async function loadPage(
  tx: Tx,
  owner: Owner,
  ids: readonly string[],
  limit: number,
): Promise<DocumentsPage> {
  const page = ids.slice(0, limit);
  const documents = await selectPage(tx, owner, page).execute();
  const goesOn = documents.length < ids.length;
  // Without a row, all documents of the page were deleted after their ids were read.
  return { documents, cursor: goesOn ? (documents.at(-1)?.id ?? page.at(-1)) : undefined };
}

/** Selects the documents with these ids, up to 1 MiB of metadata, but at least one document. */
function selectPage(tx: Tx, { userId, tenantId }: Owner, ids: readonly string[]) {
  const sized = selectDocuments(tx)
    .clearSelect()
    .select([
      'documents.id',
      'document_versions.encrypted_metadata as encryptedMetadata',
      'document_versions.status',
      'documents.created_at as createdAt',
      sql<number>`row_number() over (order by documents.id desc)`.as('position'),
      sql<number>`sum(octet_length(encrypted_metadata)) over (order by documents.id desc)`.as(
        'bytes',
      ),
    ])
    .where(sql<boolean>`documents.id = any (${ids}::uuid[])`)
    .where('documents.user_id', '=', userId)
    .where('documents.tenant_id', '=', tenantId);
  return tx
    .selectFrom(sized.as('sized'))
    .select(['id', 'encryptedMetadata', 'status', 'createdAt'])
    .where((row) => row.or([row('bytes', '<=', pageBytes), row('position', '=', 1)]))
    .orderBy('id', 'desc');
}
