import { listMasterKeys, type MasterKeys } from '../keys/master-keys.ts';
import type { DocumentItem, Documents } from './documents.ts';
import { hashKeywords } from './keywords.ts';

export interface KeywordSearch extends MasterKeys {
  /** A document must have all of these keywords. */
  readonly all?: readonly string[];
  /** A document must have one of these keywords, if there are any. */
  readonly any?: readonly string[];
  /** How many documents one request fetches. */
  readonly pageSize?: number;
}

/**
 * Lists the user's own documents by keywords, newest first. The vault gets hashes only; after a
 * rekey it learns which hashes under several master keys stand for one keyword. Throws VaultError
 * 400 without any keyword.
 */
export async function* searchDocuments(
  { documents }: { readonly documents: Documents },
  { all = [], any = [], pageSize, ...keys }: KeywordSearch,
): AsyncGenerator<DocumentItem, void, void> {
  const options = pageSize === undefined ? {} : { pageSize };
  const searches = [];
  // All hashes of a document are under one master key, so each key needs a search of its own.
  for (const masterKey of listMasterKeys(keys)) {
    const query = {
      all: await hashKeywords(masterKey, all),
      any: await hashKeywords(masterKey, any),
    };
    searches.push(documents.search(query, options));
  }
  yield* mergeNewestFirst(searches);
}

/** Merges lists that are each newest first; ids sort by time of creation. */
async function* mergeNewestFirst(
  lists: readonly AsyncGenerator<DocumentItem, void, void>[],
): AsyncGenerator<DocumentItem, void, void> {
  const heads: { item: DocumentItem; list: (typeof lists)[number] }[] = [];
  async function readOn(list: (typeof lists)[number]): Promise<void> {
    const { done, value } = await list.next();
    if (done !== true) heads.push({ item: value, list });
    heads.sort((one, other) => (one.item.id < other.item.id ? -1 : 1));
  }
  for (const list of lists) await readOn(list);
  for (let head = heads.pop(); head !== undefined; head = heads.pop()) {
    yield head.item;
    await readOn(head.list);
  }
}
