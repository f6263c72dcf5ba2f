import { sql } from 'kysely';
import type { z } from 'zod';
import type { Tx } from '../../db/database.ts';
import { takePage } from '../../http/answers/page-room.ts';
import { selectDocuments, toView, type DocumentRow } from './document-rows.ts';
import type { DocumentList } from './schema.ts';

type Listed = z.input<typeof DocumentList>[number];

/** `cursor` is the last id of the page, and undefined after the last page. */
export interface DocumentsPage {
  readonly documents: Listed[];
  readonly cursor: string | undefined;
}

/**
 * The documents of these ids, newest first, as far as they fit into a page. `ids` are in that order, and
 * one more than `limit` where the list goes on.
 */
export async function loadPage(
  tx: Tx,
  ids: readonly string[],
  limit: number,
): Promise<DocumentsPage> {
  const page = takePage(ids, limit, await loadSizes(tx, ids));
  const rows = await selectDocuments(tx)
    .where(sql<boolean>`documents.id = any (${page}::uuid[])`)
    .orderBy('documents.id', 'desc')
    .execute();
  const cursor = page.length < ids.length ? page.at(-1) : undefined;
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
