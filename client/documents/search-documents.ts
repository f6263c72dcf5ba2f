import { listMasterKeys, type MasterKeys } from '../keys/master-keys.ts';
import type { DocumentItem, Documents } from './documents.ts';
import { hashKeywords } from './keywords.ts';

export interface KeywordSearch extends MasterKeys {
  /** A document must have all of these keywords. */
  readonly all?: readonly string[];
  /** Keywords of which a document must have at least one. An empty list is ignored. */
  readonly any?: readonly string[];
  /** How many documents one request fetches. */
  readonly pageSize?: number;
}

/**
 * Lists the user's own documents by keywords, newest first. The vault receives only hashes. After a
 * rekey, it can infer which hashes under the different master keys stand for the same keyword.
 * Throws VaultError 400 if no keyword is given.
 */
export async function* searchDocuments(
  { documents }: { readonly documents: Documents },
  { all = [], any = [], pageSize, ...keys }: KeywordSearch,
): AsyncGenerator<DocumentItem, void, void> {
  const options = pageSize === undefined ? {} : { pageSize };
  const searches = [];
  // All keyword hashes of a document are made with one master key, so each master key needs a
  // search of its own.
  for (const masterKey of listMasterKeys(keys)) {
    const query = {
      all: await hashKeywords(masterKey, all),
      any: await hashKeywords(masterKey, any),
    };
    searches.push(documents.search(query, options));
  }
  yield* mergeNewestFirst(searches);
}

/**
 * Merges lists that are sorted newest first into one such list. Compares ids, which sort by the
 * time of creation.
 */
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
