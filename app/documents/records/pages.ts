import { sql } from 'kysely';
import type { z } from 'zod';
import type { Owner, Tx } from '../../db/database.ts';
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
 * Loads a page of the owner's documents, newest first. `ids` must be in this order and, if further
 * documents exist, contain one id more than `limit`.
 */
export async function loadPage(
  tx: Tx,
  owner: Owner,
  ids: readonly string[],
  limit: number,
): Promise<DocumentsPage> {
  const sizes = await loadSizes(tx, owner, ids);
  const { rows: page, cursor } = cutPage(ids, {
    limit,
    cursorOf: (id) => id,
    bytesOf: (id) => sizes.get(id) ?? 0,
  });
  const rows = await selectOwn(tx, owner, page).orderBy('documents.id', 'desc').execute();
  return { documents: rows.map(toListed), cursor };
}

function toListed(row: DocumentRow): Listed {
  const { id, encryptedMetadata, status, createdAt } = toView(row);
  return { id, encryptedMetadata, status, createdAt };
}

function selectOwn(tx: Tx, { userId, tenantId }: Owner, ids: readonly string[]) {
  return selectDocuments(tx)
    .where(sql<boolean>`documents.id = any (${ids}::uuid[])`)
    .where('documents.user_id', '=', userId)
    .where('documents.tenant_id', '=', tenantId);
}

async function loadSizes(
  tx: Tx,
  owner: Owner,
  ids: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await selectOwn(tx, owner, ids)
    .clearSelect()
    .select(['documents.id', sql<number>`octet_length(encrypted_metadata)`.as('bytes')])
    .execute();
  return new Map(rows.map(({ id, bytes }) => [id, bytes]));
}
