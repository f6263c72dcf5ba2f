import { listMasterKeys, type MasterKeys } from '../keys/master-keys.ts';
import type { DocumentItem, Documents } from './documents.ts';
import { hashKeywords } from './keywords.ts';

export interface KeywordSearch extends MasterKeys {
  /** A document must have all of these. */
  readonly all?: readonly string[];
  /** And one of these, if there are any. */
  readonly any?: readonly string[];
  readonly pageSize?: number;
}

/**
 * The user's own documents by their keywords, newest first; the vault gets hashes of them, and learns
 * which of them under several master keys are of one keyword. VaultError 400 without any keyword.
 */
export async function* searchDocuments(
  { documents }: { documents: Documents },
  { all = [], any = [], pageSize, ...keys }: KeywordSearch,
): AsyncGenerator<DocumentItem, void, void> {
  const options = pageSize === undefined ? {} : { pageSize };
  const searches = [];
  // The hashes of a document are all under one key.
  for (const masterKey of listMasterKeys(keys)) {
    const query = {
      all: await hashKeywords(masterKey, all),
      any: await hashKeywords(masterKey, any),
    };
    searches.push(documents.search(query, options));
  }
  yield* mergeNewestFirst(searches);
}

/** Of lists that are each newest first, which is by their ids. */
async function* mergeNewestFirst(
  lists: readonly AsyncGenerator<DocumentItem, void, void>[],
): AsyncGenerator<DocumentItem, void, void> {
  const heads: { item: DocumentItem; list: (typeof lists)[number] }[] = [];
  async function readOn(list: (typeof lists)[number]): Promise<void> {
    const { value } = await list.next();
    if (value) heads.push({ item: value, list });
    heads.sort((one, other) => (one.item.id < other.item.id ? -1 : 1));
  }
  for (const list of lists) await readOn(list);
  for (let head = heads.pop(); head !== undefined; head = heads.pop()) {
    yield head.item;
    await readOn(head.list);
  }
}
