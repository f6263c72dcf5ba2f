import { ClientError } from '../errors/client-error.ts';
import type { StoredFile } from '../files/stored-file.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import type { Document, Documents } from './documents.ts';
import { decryptMetadata, type Metadata } from './metadata.ts';

/** A document in its current version, as its owner sees it. */
export interface OpenedDocument extends StoredFile {
  readonly document: Document;
  readonly etag: string;
  readonly metadata: Metadata;
}

/** Throws invalid_metadata, or metadata_mismatch where the vault shows another file's metadata. */
export async function openDocument(
  { documents }: { documents: Documents },
  { id, ...keys }: MasterKeys & { id: string },
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
 * The hash of a version that is not current is the vault's word, or that of its proof, which the
 * caller compares. Throws version_not_found beside what `openDocument` throws.
 */
export async function openVersion(
  dependencies: { documents: Documents },
  { version, ...owned }: MasterKeys & { id: string; version: number },
): Promise<StoredFile> {
  const { documentId, documentKey } = await openDocument(dependencies, owned);
  for await (const found of dependencies.documents.versions(documentId)) {
    if (found.version === version) {
      return { documentId, version, documentKey, fileHash: found.fileHash };
    }
  }
  throw new ClientError('version_not_found');
}
