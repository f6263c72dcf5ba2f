import { ClientError } from '../errors/client-error.ts';
import { openWithAny, type MasterKeys } from '../keys/master-keys.ts';
import { noResume } from '../uploads/resume.ts';
import type { UploadDependencies, UploadOptions } from '../uploads/send-parts.ts';
import { isSpent } from '../uploads/spent-upload.ts';
import { uploadFile } from '../uploads/upload.ts';
import type { Document, Documents, NewDocument } from './documents.ts';
import { hashKeywords } from './keywords.ts';
import { assertDescription, decryptMetadata, encryptMetadata } from './metadata.ts';

export interface StoreDocumentOptions extends Omit<UploadOptions, 'versionOf'> {
  readonly name: string;
  /** Media type of the file, such as application/pdf. */
  readonly mediaType: string;
  readonly keywords?: readonly string[];
}

/**
 * Encrypts and uploads a file, creates a document from it and clears the journal. Throws
 * file_hash_mismatch if the vault stored other bytes than the client sent, what `uploadFile`
 * throws, VaultError 409 duplicate_hash, and TypeError for an invalid name, media type or keyword,
 * before anything is sent.
 */
export async function storeDocument(
  dependencies: UploadDependencies & { readonly documents: Documents },
  { name, mediaType, keywords = [], ...options }: StoreDocumentOptions,
): Promise<Document> {
  const { source, masterKey, earlierKeys, resume = noResume } = options;
  assertDescription({ name, mediaType });
  const keywordDeterministic = await hashKeywords(masterKey, keywords);
  const { storagePath, documentKey, fileHash } = await uploadFile(dependencies, options);
  const metadata = { name, mediaType, size: source.size, fileHash };
  const request: NewDocument = {
    encryptedMetadata: await encryptMetadata({ masterKey, documentKey }, metadata),
    keywordDeterministic,
    storagePath,
  };
  try {
    const made = { masterKey, earlierKeys, fileHash };
    const document = await createOrFind(dependencies.documents, request, made);
    await resume.clear();
    if (document.fileHash !== fileHash) throw new ClientError('file_hash_mismatch');
    return document;
  } catch (error) {
    if (isSpent(error)) await resume.clear();
    throw error;
  }
}

/**
 * Creates the document. If an earlier call created it and the response to that call was lost, finds
 * the existing document.
 */
async function createOrFind(
  documents: Documents,
  request: NewDocument,
  made: MasterKeys & { readonly fileHash: string },
): Promise<Document> {
  try {
    return await documents.create(request);
  } catch (error) {
    if (!isSpent(error)) throw error;
    for await (const { id, encryptedMetadata } of documents.list()) {
      if (await isMetadataOf(encryptedMetadata, made)) return documents.get(id);
    }
    throw error;
  }
}

async function isMetadataOf(
  encryptedMetadata: string,
  { fileHash, ...keys }: MasterKeys & { readonly fileHash: string },
): Promise<boolean> {
  try {
    const { metadata } = await openWithAny(keys, (masterKey) =>
      decryptMetadata(masterKey, encryptedMetadata),
    );
    return metadata.fileHash === fileHash;
  } catch (error) {
    if (error instanceof ClientError) return false;
    throw error;
  }
}
