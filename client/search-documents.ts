import type { Bytes } from './bytes.ts';
import type { DocumentItem, Documents } from './documents.ts';
import { hashKeywords } from './keywords.ts';

export interface KeywordSearch {
  readonly masterKey: Bytes;
  /** A document must have all of these. */
  readonly all?: readonly string[];
  /** And one of these, if there are any. */
  readonly any?: readonly string[];
  readonly pageSize?: number;
}

/**
 * The user's own documents by their keywords, newest first; the vault gets hashes of them.
 * VaultError 400 without any keyword.
 */
export async function* searchDocuments(
  { documents }: { documents: Documents },
  { masterKey, all = [], any = [], pageSize }: KeywordSearch,
): AsyncGenerator<DocumentItem, void, void> {
  const query = {
    all: await hashKeywords(masterKey, all),
    any: await hashKeywords(masterKey, any),
  };
  yield* documents.search(query, pageSize === undefined ? {} : { pageSize });
}
