import { sql } from 'kysely';
import type { z } from 'zod';
import type { Database, Owner, Tx } from '../../db/database.ts';
import { commitWith } from '../../db/transaction.ts';
import { compileOnce } from '../../db/compile-once.ts';
import { pageBytes } from '../../http/responses/page.ts';
import { selectDocuments } from './document-rows.ts';
import type { DocumentList } from './schema.ts';

/**
 * A page of documents. `cursor` is the place of the last document on this page, or undefined if no
 * further page exists.
 */
export interface DocumentsPage {
  readonly documents: z.input<typeof DocumentList>;
  readonly cursor: string | undefined;
}

/**
 * Reads a page of the owner's documents, newest first. `findPlaces` must return places in this
 * order and, if further documents exist, one place more than `limit`.
 */
export async function readPage(
  db: Database,
  owner: Owner,
  limit: number,
  findPlaces: (tx: Tx) => Promise<readonly string[]>,
): Promise<DocumentsPage> {
  const { page } = await db.asUser(owner, async (tx) => {
    const loading = loadPage(tx, owner, await findPlaces(tx), limit);
    commitWith(tx, loading);
    return { page: loading };
  });
  return page;
}

async function loadPage(
  tx: Tx,
  owner: Owner,
  places: readonly string[],
  limit: number,
): Promise<DocumentsPage> {
  const page = places.slice(0, limit);
  const { userId, tenantId } = owner;
  const rows = await selectPage(tx, { userId, tenantId, places: page });
  const goesOn = rows.length < places.length;
  // Without a row, all documents of the page were deleted after their places were read.
  const cursor = goesOn ? (rows.at(-1)?.place ?? page.at(-1)) : undefined;
  return { documents: rows.map(({ place: _place, ...document }) => document), cursor };
}

type Places = Owner & { readonly places: readonly string[] };

/** Selects the documents at these places, up to 1 MiB of metadata, but at least one document. */
const selectPage = compileOnce(({ userId, tenantId, places }: Places, db) => {
  const sized = selectDocuments(db)
    .clearSelect()
    .select([
      'documents.id',
      'documents.place',
      'document_versions.encrypted_metadata as encryptedMetadata',
      'document_versions.status',
      'documents.created_at as createdAt',
      sql<number>`row_number() over (order by documents.place desc)`.as('position'),
      sql<number>`sum(octet_length(encrypted_metadata)) over (order by documents.place desc)`.as(
        'bytes',
      ),
    ])
    .where(sql<boolean>`documents.place = any (${places}::uuid[])`)
    .where('documents.user_id', '=', userId)
    .where('documents.tenant_id', '=', tenantId);
  return db
    .selectFrom(sized.as('sized'))
    .select(['id', 'place', 'encryptedMetadata', 'status', 'createdAt'])
    .where((row) => row.or([row('bytes', '<=', pageBytes), row('position', '=', 1)]))
    .orderBy('place', 'desc')
    .compile();
});
