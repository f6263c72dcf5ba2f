import type { Tx } from '../../db/database.ts';
import type { VersionRow } from './document-rows.ts';

/** Inserts the keyword hashes of a document, without duplicates. */
export async function insertKeywords(
  tx: Tx,
  { document_id, user_id, tenant_id }: VersionRow,
  keywords: readonly string[],
): Promise<void> {
  const rows = [...new Set(keywords)].map((keyword_hash) => ({
    user_id,
    tenant_id,
    keyword_hash,
    document_id,
  }));
  if (rows.length > 0) await tx.insertInto('document_keywords').values(rows).execute();
}

export async function replaceKeywords(
  tx: Tx,
  version: VersionRow,
  keywords: readonly string[],
): Promise<void> {
  await tx
    .deleteFrom('document_keywords')
    .where('document_id', '=', version.document_id)
    .where('user_id', '=', version.user_id)
    .where('tenant_id', '=', version.tenant_id)
    .execute();
  await insertKeywords(tx, version, keywords);
}
