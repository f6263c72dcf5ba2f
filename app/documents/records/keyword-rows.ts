import type { Tx } from '../../db/database.ts';
import type { DocumentRow } from './document-rows.ts';

type KeywordsOf = Pick<DocumentRow, 'document_id' | 'user_id' | 'tenant_id' | 'place'>;

/** Inserts the keyword hashes of a document, without duplicates. */
export async function insertKeywords(
  tx: Tx,
  { document_id, user_id, tenant_id, place }: KeywordsOf,
  keywords: readonly string[],
): Promise<void> {
  const rows = [...new Set(keywords)].map((keyword_hash) => ({
    user_id,
    tenant_id,
    keyword_hash,
    place,
    document_id,
  }));
  if (rows.length > 0) await tx.insertInto('document_keywords').values(rows).execute();
}

export async function replaceKeywords(
  tx: Tx,
  document: KeywordsOf,
  keywords: readonly string[],
): Promise<void> {
  await tx
    .deleteFrom('document_keywords')
    .where('document_id', '=', document.document_id)
    .where('user_id', '=', document.user_id)
    .where('tenant_id', '=', document.tenant_id)
    .execute();
  await insertKeywords(tx, document, keywords);
}
