import { ClientError } from '../errors/client-error.ts';
import type { StoredFile } from '../files/stored-file.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import type { Document, Documents } from './documents.ts';
import { decryptMetadata, type Metadata } from './metadata.ts';

/** A document in its current version, decrypted for its owner. */
export interface OpenedDocument extends StoredFile {
  readonly document: Document;
  readonly etag: string;
  readonly metadata: Metadata;
}

/**
 * Fetches a document and decrypts its metadata and document key. Throws invalid_metadata,
 * metadata_mismatch if the metadata belongs to another file, and VaultError 404 not_found.
 */
export async function openDocument(
  { documents }: { readonly documents: Documents },
  { id, ...keys }: MasterKeys & { readonly id: string },
): Promise<OpenedDocument> {
  const { document, etag } = await documents.getRevised(id);
  const { encryptedMetadata, fileHash } = document;
  const { documentKey, metadata } = await openWithAny(keys, (masterKey) =>
    decryptMetadata(masterKey, encryptedMetadata),
  );
  if (metadata.fileHash !== fileHash) throw new ClientError('metadata_mismatch');
  return { documentId: document.id, documentKey, fileHash, document, etag, metadata };
}

/**
 * Finds a version of a document and the key that decrypts it. For a version that is not current,
 * the hash is not verified: compare it with the hash in the version's audit proof. Throws
 * version_not_found and what `openDocument` throws.
 */
export async function openVersion(
  dependencies: { readonly documents: Documents },
  { version, ...owned }: MasterKeys & { readonly id: string; readonly version: number },
): Promise<StoredFile> {
  const { documentId, documentKey } = await openDocument(dependencies, owned);
  for await (const found of dependencies.documents.versions(documentId)) {
    if (found.version === version) {
      return { documentId, version, documentKey, fileHash: found.fileHash };
    }
  }
  throw new ClientError('version_not_found');
}
