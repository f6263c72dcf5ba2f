import { ClientError } from '../errors/client-error.ts';
import type { Bytes } from '../bytes/bytes.ts';
import type { StoredFile } from '../files/stored-file.ts';
import {
  deriveFileKey,
  unwrapEarlierKey,
  versionKeyOf,
  type ReadingKey,
} from '../keys/document-key.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import type { Look, Memory } from '../memory/memory.ts';
import type { DocumentState } from '../memory/values/remembered.ts';
import { commitmentOf } from '../content/commitment.ts';
import type { StatedVersion } from '../authorship/statement.ts';
import type { Document, Documents, RevisedDocument } from './documents.ts';
import type { MetadataPlace } from './metadata-header.ts';
import { decryptMetadata, hashMetadata, openMetadata, type PlacedMetadata } from './metadata.ts';

/** The file of a version, and its metadata. */
export interface OpenedVersion extends StoredFile, PlacedMetadata {
  /** The key of this version alone, 32 bytes. */
  readonly versionKey: Bytes;
  /** The metadata as the vault stores it, base64. */
  readonly encryptedMetadata: string;
}

/** A document in its current version, decrypted for its owner. */
export interface OpenedDocument extends OpenedVersion {
  readonly document: Document;
  readonly etag: string;
  /** The key of the document, 32 bytes. */
  readonly documentKey: Bytes;
}

export interface OpenDependencies {
  readonly documents: Documents;
  readonly memory: Memory;
}

/** Returns what an author states of a version that was opened. */
export async function statedVersionOf({
  documentId,
  version,
  fileHash,
  encryptedMetadata,
  metadata,
}: OpenedVersion): Promise<StatedVersion> {
  const metadataHash = hashMetadata(encryptedMetadata);
  const contentCommitment = await commitmentOf(metadata);
  return { documentId, version, fileHash, metadataHash, contentCommitment };
}

/** Returns the state of a document by which it is remembered. */
export function stateOf(
  { version, change }: Pick<MetadataPlace, 'version' | 'change'>,
  encryptedMetadata: string,
): DocumentState {
  return { version, change, metadataHash: hashMetadata(encryptedMetadata) };
}

/**
 * Fetches a document and decrypts its metadata and document key. Throws document_mismatch if the
 * vault sends another document, what `Look.sawDocument` throws, invalid_metadata, metadata_mismatch
 * if the metadata belongs to another file, and VaultError 404 not_found.
 */
export async function openDocument(
  { documents, memory }: OpenDependencies,
  { id, ...keys }: MasterKeys & { readonly id: string },
): Promise<OpenedDocument> {
  const look = await memory.look();
  try {
    return await openShown(look, await documents.getRevised(id), { id, ...keys });
  } finally {
    look.end();
  }
}

/** Opens the document that the vault showed, and compares it with what is remembered. */
async function openShown(
  look: Look,
  { document, etag }: RevisedDocument,
  { id, ...keys }: MasterKeys & { readonly id: string },
): Promise<OpenedDocument> {
  const { encryptedMetadata, fileHash } = document;
  const documentId = id.toLowerCase();
  if (document.id !== documentId) throw new ClientError('document_mismatch');
  const { documentKey, isPresent, ...opened } = await openWithAny(keys, async (masterKey) => {
    const opening = await decryptMetadata(masterKey, { documentId }, encryptedMetadata);
    const isPresent = masterKey === keys.masterKey;
    return { ...(isPresent ? opening : ofUnknownGeneration(opening)), isPresent };
  });
  if (opened.metadata.fileHash !== fileHash) throw new ClientError('metadata_mismatch');
  const state = stateOf(opened.place, encryptedMetadata);
  await look.sawDocument(documentId, state, isPresent);
  const version = await toVersion({ documentKey }, opened, { encryptedMetadata, fileHash });
  return { ...version, documentKey, document, etag };
}

/** An earlier master key does not vouch for the time at which the document key was made. */
function ofUnknownGeneration<T extends PlacedMetadata>(opened: T): T {
  return { ...opened, place: { ...opened.place, keyGeneration: 0 } };
}

async function toVersion(
  key: ReadingKey,
  opened: PlacedMetadata,
  stored: Pick<OpenedVersion, 'encryptedMetadata' | 'fileHash'>,
): Promise<OpenedVersion> {
  const { documentId, version } = opened.place;
  const versionKey = await versionKeyOf(key, opened.place);
  const fileKey = await deriveFileKey({ versionKey }, opened.place);
  return { ...opened, ...stored, documentId, version, versionKey, fileKey };
}

/**
 * Finds a version of a document for its owner, and the key that decrypts its file. Throws what
 * `openDocument` and `openVersionOf` throw.
 */
export async function openVersion(
  dependencies: OpenDependencies,
  { version, ...owned }: MasterKeys & { readonly id: string; readonly version: number },
): Promise<OpenedVersion> {
  return openVersionOf(dependencies, await openDocument(dependencies, owned), version);
}

/**
 * Finds a version of a document that was opened, by its owner or by the recipient of a share.
 * Follows the hashes by which each version names the metadata of the one before, from the current
 * version back, and from each key of the document to the one before it. Throws version_not_found
 * (also for the recipient of one version), invalid_envelope, history_mismatch if the versions do
 * not follow each other, version_mismatch, invalid_metadata, and metadata_mismatch if the metadata
 * belongs to another file.
 */
export async function openVersionOf(
  { documents }: Pick<OpenDependencies, 'documents'>,
  current: OpenedVersion & { readonly documentKey?: Bytes },
  version: number,
): Promise<OpenedVersion> {
  const { documentId } = current;
  if (version === current.version) return current;
  let { documentKey } = current;
  if (version > current.version || documentKey === undefined) {
    throw new ClientError('version_not_found');
  }
  let next: PlacedMetadata = current;
  for await (const listed of documents.versions(documentId)) {
    const { encryptedMetadata, fileHash } = listed;
    // A version may have been added since the document was read.
    if (listed.version >= next.place.version) continue;
    if (next.earlierKey !== undefined) {
      documentKey = await unwrapEarlierKey(documentKey, documentId, next.earlierKey);
    }
    const name = { documentId, version: next.place.version - 1 };
    const opened = await openMetadata({ documentKey }, name, encryptedMetadata);
    if (hashMetadata(encryptedMetadata) !== next.place.previous) {
      throw new ClientError('history_mismatch');
    }
    if (opened.metadata.fileHash !== fileHash) throw new ClientError('metadata_mismatch');
    if (opened.place.version === version) {
      return toVersion({ documentKey }, opened, { encryptedMetadata, fileHash });
    }
    next = opened;
  }
  throw new ClientError('version_not_found');
}
