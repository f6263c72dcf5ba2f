import { ClientError } from './client-error.ts';
import type { Document, Documents } from './documents.ts';
import { hashKeywords } from './keywords.ts';
import { encryptMetadata } from './metadata.ts';
import { NO_RESUME } from './resume.ts';
import type { UploadDependencies, UploadOptions } from './send-parts.ts';
import { uploadFile } from './upload.ts';
import { VaultError } from './vault-error.ts';

export interface StoreDocumentOptions extends UploadOptions {
  readonly name: string;
  readonly mediaType: string;
  readonly keywords?: readonly string[];
}

/** These say that the uploaded file will never become a document, now or later. */
const SPENT_UPLOAD_CODES = new Set(['duplicate_hash', 'stored_file_not_found']);

/**
 * Encrypts and uploads a file, makes it a document, and clears the journal.
 * Throws file_hash_mismatch if the server has other bytes than the ones sent.
 */
export async function storeDocument(
  dependencies: UploadDependencies & { documents: Documents },
  { name, mediaType, keywords = [], ...options }: StoreDocumentOptions,
): Promise<Document> {
  const { source, masterKey, resume = NO_RESUME } = options;
  const { storagePath, documentKey, fileHash } = await uploadFile(dependencies, options);
  const metadata = { name, mediaType, size: source.size, fileHash };
  try {
    const document = await dependencies.documents.create({
      encryptedMetadata: await encryptMetadata({ masterKey, documentKey }, metadata),
      keywordDeterministic: await hashKeywords(masterKey, keywords),
      storagePath,
    });
    await resume.clear();
    if (document.fileHash !== fileHash) throw new ClientError('file_hash_mismatch');
    return document;
  } catch (error) {
    const isSpent = error instanceof VaultError && SPENT_UPLOAD_CODES.has(error.code);
    if (isSpent) await resume.clear();
    throw error;
  }
}
