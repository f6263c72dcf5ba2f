import type { Bytes } from './bytes.ts';
import { ClientError } from './client-error.ts';
import type { Document, Documents } from './documents.ts';
import { decryptMetadata } from './metadata.ts';
import type { Metadata } from './metadata.ts';

/** A file in the vault and what opens it. An opened share is one too. */
export interface StoredFile {
  readonly documentId: string;
  /** The current one unless named. */
  readonly version?: number | undefined;
  readonly documentKey: Bytes;
  /** SHA3-256 of the encrypted file, 64 hex digits. */
  readonly fileHash: string;
}

/** A document in its current version, as its owner sees it. */
export interface OpenedDocument extends StoredFile {
  readonly document: Document;
  readonly etag: string;
  readonly metadata: Metadata;
}

/** Throws invalid_metadata, or file_hash_mismatch where the vault shows another file's metadata. */
export async function openDocument(
  { documents }: { documents: Documents },
  { id, masterKey }: { id: string; masterKey: Bytes },
): Promise<OpenedDocument> {
  const { document, etag } = await documents.getRevised(id);
  const { documentKey, metadata } = await decryptMetadata(masterKey, document.encryptedMetadata);
  const { fileHash } = document;
  if (metadata.fileHash !== fileHash) throw new ClientError('file_hash_mismatch');
  return { documentId: document.id, documentKey, fileHash, document, etag, metadata };
}

/**
 * The hash of a version that is not current is the vault's word, or that of its proof, which the
 * caller compares. Throws version_not_found beside what `openDocument` throws.
 */
export async function openVersion(
  dependencies: { documents: Documents },
  { version, ...owned }: { id: string; masterKey: Bytes; version: number },
): Promise<StoredFile> {
  const { documentId, documentKey } = await openDocument(dependencies, owned);
  for await (const found of dependencies.documents.versions(documentId)) {
    if (found.version === version) {
      return { documentId, version, documentKey, fileHash: found.fileHash };
    }
  }
  throw new ClientError('version_not_found');
}
