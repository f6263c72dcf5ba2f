import { ClientError } from '../errors/client-error.ts';
import type { MasterKeys } from '../keys/master-keys.ts';
import { VaultError } from '../errors/vault-error.ts';
import type { Documents, NewMetadata, RevisedDocument } from './documents.ts';
import { hashKeywords, normalizeKeywords } from './keywords.ts';
import { encryptMetadata, type Metadata } from './metadata.ts';
import { openDocument, stateOf, type OpenDependencies } from './open-document.ts';

export interface MetadataChange extends MasterKeys, Partial<Pick<Metadata, 'name' | 'mediaType'>> {
  readonly id: string;
  /**
   * The new keywords, which replace all present keywords. By default, the keywords stay unchanged.
   */
  readonly keywords?: readonly string[];
  /**
   * ETag that the document must have for the change. The default is its ETag at the time of the
   * call.
   */
  readonly ifMatch?: string;
}

/**
 * Replaces the given members of the metadata and keeps the others. Throws version_conflict if the
 * document's ETag is not `ifMatch`, master_key_outdated, VaultError 409 document_sealed, and what
 * `openDocument` throws.
 */
export async function changeMetadata(
  dependencies: OpenDependencies,
  { id, masterKey, earlierKeys, name, mediaType, keywords, ifMatch }: MetadataChange,
): Promise<RevisedDocument> {
  const owned = { id, masterKey, earlierKeys };
  const { documents, memory } = dependencies;
  await memory.generationOf(masterKey);
  const opened = await openDocument(dependencies, owned);
  const { documentKey, earlierKey, etag, metadata, place } = opened;
  const changed: Metadata = {
    ...metadata,
    name: name ?? metadata.name,
    mediaType: mediaType ?? metadata.mediaType,
    keywords: keywords === undefined ? metadata.keywords : normalizeKeywords(keywords),
  };
  const changedPlace = { ...place, change: place.change + 1 };
  const keys = { masterKey, documentKey, earlierKey };
  const encryptedMetadata = await encryptMetadata(keys, changedPlace, changed);
  const request: NewMetadata =
    keywords === undefined
      ? { encryptedMetadata }
      : { encryptedMetadata, keywordDeterministic: await hashKeywords(masterKey, keywords) };
  const replaced = await replaceOrFind(documents, id, { request, etag: ifMatch ?? etag });
  await memory.madeDocument(id, stateOf(changedPlace, encryptedMetadata));
  return replaced;
}

/**
 * Replaces the metadata. If an earlier attempt replaced it and the response to that attempt was
 * lost, resolves with the document as it is.
 */
async function replaceOrFind(
  documents: Documents,
  id: string,
  { request, etag }: { readonly request: NewMetadata; readonly etag: string },
): Promise<RevisedDocument> {
  try {
    return await documents.replaceMetadata(id, request, etag);
  } catch (error) {
    if (!(error instanceof VaultError) || error.status !== 412) throw error;
    const present = await documents.getRevised(id);
    if (present.document.encryptedMetadata === request.encryptedMetadata) return present;
    throw new ClientError('version_conflict', { cause: error });
  }
}
