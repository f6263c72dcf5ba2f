import { ClientError } from '../errors/client-error.ts';
import type { Bytes } from '../bytes/bytes.ts';
import type { StoredFile } from '../files/stored-file.ts';
import { deriveFileKey, type ReadingKey } from '../keys/document-key.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import type { Memory } from '../memory/memory.ts';
import type { DocumentState } from '../memory/remembered.ts';
import type { Document, Documents } from './documents.ts';
import type { MetadataPlace } from './metadata-header.ts';
import { decryptMetadata, hashMetadata, openMetadata, type PlacedMetadata } from './metadata.ts';

/** The file of a version, and its metadata. */
export interface OpenedVersion extends StoredFile, PlacedMetadata {
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

/** Returns the state of a document by which it is remembered. */
export function stateOf(
  { version, change }: Pick<MetadataPlace, 'version' | 'change'>,
  encryptedMetadata: string,
): DocumentState {
  return { version, change, metadataHash: hashMetadata(encryptedMetadata) };
}

/**
 * Fetches a document and decrypts its metadata and document key. Throws document_mismatch if the
 * vault sends another document, RolledBackError if it sends an older state than this device has
 * seen, invalid_metadata, metadata_mismatch if the metadata belongs to another file, and VaultError
 * 404 not_found.
 */
export async function openDocument(
  { documents, memory }: OpenDependencies,
  { id, ...keys }: MasterKeys & { readonly id: string },
): Promise<OpenedDocument> {
  const look = await memory.look();
  const { document, etag } = await documents.getRevised(id);
  const { encryptedMetadata, fileHash } = document;
  const documentId = id.toLowerCase();
  if (document.id !== documentId) throw new ClientError('document_mismatch');
  const { documentKey, metadata, place } = await openWithAny(keys, (masterKey) =>
    decryptMetadata(masterKey, { documentId }, encryptedMetadata),
  );
  if (metadata.fileHash !== fileHash) throw new ClientError('metadata_mismatch');
  await look.sawDocument(documentId, stateOf(place, encryptedMetadata));
  const fileKey = await deriveFileKey({ documentKey }, place);
  const file = { documentId, version: place.version, fileKey, fileHash };
  return { ...file, documentKey, document, etag, encryptedMetadata, metadata, place };
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
 * version back. Throws version_not_found, history_mismatch if the versions do not follow each
 * other, version_mismatch, invalid_metadata, and metadata_mismatch if the metadata belongs to
 * another file.
 */
export async function openVersionOf(
  { documents }: Pick<OpenDependencies, 'documents'>,
  current: OpenedVersion & ReadingKey,
  version: number,
): Promise<OpenedVersion> {
  const { documentId } = current;
  if (version === current.version) return current;
  if (version > current.version || 'versionKey' in current) {
    throw new ClientError('version_not_found');
  }
  let { place: next } = current;
  for await (const listed of documents.versions(documentId)) {
    const { encryptedMetadata, fileHash } = listed;
    // A version may have been added since the document was read.
    if (listed.version >= next.version) continue;
    const name = { documentId, version: next.version - 1 };
    const { metadata, place } = await openMetadata(current, name, encryptedMetadata);
    if (hashMetadata(encryptedMetadata) !== next.previous) {
      throw new ClientError('history_mismatch');
    }
    if (metadata.fileHash !== fileHash) throw new ClientError('metadata_mismatch');
    if (place.version === version) {
      const fileKey = await deriveFileKey(current, place);
      return { documentId, version, fileKey, fileHash, encryptedMetadata, metadata, place };
    }
    next = place;
  }
  throw new ClientError('version_not_found');
}
