import { sql } from 'kysely';
import type { z } from 'zod';
import type { Tx } from '../../db/database.ts';
import { cutPage } from '../../http/responses/page.ts';
import { selectDocuments, toView, type DocumentRow } from './document-rows.ts';
import type { DocumentList } from './schema.ts';

type Listed = z.input<typeof DocumentList>[number];

/**
 * A page of documents. `cursor` is the id of the last document on this page, or undefined if no
 * further page exists.
 */
export interface DocumentsPage {
  readonly documents: Listed[];
  readonly cursor: string | undefined;
}

/**
 * Loads a page of documents, newest first. `ids` must be in this order and, if further documents
 * exist, contain one id more than `limit`.
 */
export async function loadPage(
  tx: Tx,
  ids: readonly string[],
  limit: number,
): Promise<DocumentsPage> {
  const sizes = await loadSizes(tx, ids);
  const { rows: page, cursor } = cutPage(ids, {
    limit,
    cursorOf: (id) => id,
    bytesOf: (id) => sizes.get(id) ?? 0,
  });
  const rows = await selectDocuments(tx)
    .where(sql<boolean>`documents.id = any (${page}::uuid[])`)
    .orderBy('documents.id', 'desc')
    .execute();
  return { documents: rows.map(toListed), cursor };
}

function toListed(row: DocumentRow): Listed {
  const { id, encryptedMetadata, status, createdAt } = toView(row);
  return { id, encryptedMetadata, status, createdAt };
}

async function loadSizes(tx: Tx, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const rows = await selectDocuments(tx)
    .clearSelect()
    .select(['documents.id', sql<number>`octet_length(encrypted_metadata)`.as('bytes')])
    .where(sql<boolean>`documents.id = any (${ids}::uuid[])`)
    .execute();
  return new Map(rows.map(({ id, bytes }) => [id, bytes]));
}
