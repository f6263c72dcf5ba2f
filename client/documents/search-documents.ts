import { ClientError } from '../errors/client-error.ts';
import { listMasterKeys, openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import type { DocumentItem } from './documents.ts';
import { hashKeywords, normalizeKeywords } from './keywords.ts';
import { decryptMetadata, type Metadata } from './metadata.ts';
import { stateOf, type OpenDependencies } from './open-document.ts';

/** A document that a search found. */
export type FoundDocument = DocumentItem & { readonly metadata: Metadata };

export interface KeywordSearch extends MasterKeys {
  /** A document must have all of these keywords. */
  readonly all?: readonly string[];
  /** Keywords of which a document must have at least one. An empty list is ignored. */
  readonly any?: readonly string[];
  /** How many documents one request fetches. */
  readonly pageSize?: number;
}

/**
 * Lists the user's own documents by keywords, newest first, with their metadata. The vault receives
 * only hashes. After a rekey, it can infer which hashes under the different master keys stand for
 * the same keyword. Throws keyword_mismatch if the vault sends a document without the keywords,
 * RolledBackError if it sends an older state than this device has seen, what `decryptMetadata`
 * throws, and VaultError 400 if no keyword is given. The vault can leave out
 * documents unnoticed.
 */
export async function* searchDocuments(
  dependencies: OpenDependencies,
  { all = [], any = [], pageSize, ...keys }: KeywordSearch,
): AsyncGenerator<FoundDocument, void, void> {
  const options = pageSize === undefined ? {} : { pageSize };
  const searches = [];
  // All keyword hashes of a document are made with one master key, so each master key needs a
  // search of its own.
  for (const masterKey of listMasterKeys(keys)) {
    const query = {
      all: await hashKeywords(masterKey, all),
      any: await hashKeywords(masterKey, any),
    };
    searches.push(dependencies.documents.search(query, options));
  }
  const look = await dependencies.memory.look();
  const wanted = { all: normalizeKeywords(all), any: normalizeKeywords(any) };
  try {
    for await (const item of mergeNewestFirst(searches)) {
      const { id: documentId, encryptedMetadata } = item;
      const { metadata, place, isPresent } = await openWithAny(keys, async (masterKey) => ({
        ...(await decryptMetadata(masterKey, { documentId }, encryptedMetadata)),
        isPresent: masterKey === keys.masterKey,
      }));
      if (!hasKeywords(metadata, wanted)) throw new ClientError('keyword_mismatch');
      await look.sawDocument(documentId, stateOf(place, encryptedMetadata), isPresent);
      yield { ...item, metadata };
    }
  } finally {
    look.end();
  }
}

function hasKeywords(
  { keywords }: Metadata,
  { all, any }: Required<Pick<KeywordSearch, 'all' | 'any'>>,
): boolean {
  const has = (keyword: string) => keywords.includes(keyword);
  return all.every(has) && (any.length === 0 || any.some(has));
}

/** Merges lists that are sorted newest first into one such list. */
async function* mergeNewestFirst(
  lists: readonly AsyncGenerator<DocumentItem, void, void>[],
): AsyncGenerator<DocumentItem, void, void> {
  const heads: { item: DocumentItem; list: (typeof lists)[number] }[] = [];
  async function readOn(list: (typeof lists)[number]): Promise<void> {
    const { done, value } = await list.next();
    if (done !== true) heads.push({ item: value, list });
    heads.sort((one, other) => (one.item.createdAt < other.item.createdAt ? -1 : 1));
  }
  for (const list of lists) await readOn(list);
  for (let head = heads.pop(); head !== undefined; head = heads.pop()) {
    yield head.item;
    await readOn(head.list);
  }
}
