import { commitmentOf } from '../content/commitment.ts';
import { ClientError } from '../errors/client-error.ts';
import { hasCode } from '../errors/vault-error.ts';
import { noResume } from '../uploads/resume.ts';
import type { UploadDependencies, UploadOptions } from '../uploads/send-parts.ts';
import { isSpent } from '../uploads/spent-upload.ts';
import { uploadFile } from '../uploads/upload.ts';
import type { Document, Documents, NewDocument } from './documents.ts';
import { hashKeywords, normalizeKeywords } from './keywords.ts';
import { assertDescription, encryptMetadata } from './metadata.ts';
import { openDocument, stateOf, type OpenDependencies } from './open-document.ts';

export interface StoreDocumentOptions extends Omit<UploadOptions, 'versionOf'> {
  readonly name: string;
  /** Media type of the file, such as application/pdf. */
  readonly mediaType: string;
  readonly keywords?: readonly string[];
}

/**
 * Encrypts and uploads a file, creates a document from it and clears the journal. The client
 * chooses the id of the document, for which file, key and metadata are encrypted. Throws
 * file_hash_mismatch if the vault stored other bytes than the client sent, document_mismatch if it
 * created another document, master_key_outdated, what `uploadFile` throws, VaultError 409
 * duplicate_hash, and TypeError for an invalid name, media type or keyword, before anything is
 * sent.
 */
export async function storeDocument(
  dependencies: UploadDependencies & OpenDependencies,
  { name, mediaType, keywords = [], ...options }: StoreDocumentOptions,
): Promise<Document> {
  const { masterKey, resume = noResume } = options;
  assertDescription({ name, mediaType });
  const keyGeneration = await dependencies.memory.generationOf(masterKey);
  const keywordDeterministic = await hashKeywords(masterKey, keywords);
  const uploaded = await uploadFile(dependencies, options);
  // A rekey may have taken place during the upload.
  await dependencies.memory.generationOf(masterKey);
  const { documentId: id, storagePath, documentKey, fileHash, size, content } = uploaded;
  const place = { documentId: id, version: 1, change: 0, previous: null, keyGeneration };
  const encryptedMetadata = await encryptMetadata({ masterKey, documentKey }, place, {
    name,
    mediaType,
    size,
    keywords: normalizeKeywords(keywords),
    fileHash,
    content,
  });
  const contentCommitment = await commitmentOf(uploaded);
  try {
    const request = { id, encryptedMetadata, keywordDeterministic, storagePath };
    const committed = { ...request, contentCommitment };
    const document = await createOrFind(dependencies.documents, committed, fileHash);
    await resume.clear();
    if (document.id !== id) throw new ClientError('document_mismatch');
    if (document.fileHash !== fileHash) throw new ClientError('file_hash_mismatch');
    if (document.encryptedMetadata === encryptedMetadata) {
      await dependencies.memory.madeDocument(id, stateOf(place, encryptedMetadata));
    } else {
      // An earlier call made it, by what the vault says: it must open, and is remembered then.
      await openDocument(dependencies, { id, masterKey });
    }
    return document;
  } catch (error) {
    if (isSpent(error)) await resume.clear();
    throw error;
  }
}

/**
 * Creates the document. If an earlier call created it and the response to that call was lost,
 * resolves with the existing document.
 */
async function createOrFind(
  documents: Documents,
  request: NewDocument,
  fileHash: string,
): Promise<Document> {
  try {
    return await documents.create(request);
  } catch (error) {
    if (!isSpent(error)) throw error;
    const existing = await documents.get(request.id).catch((cause: unknown) => {
      throw hasCode(cause, 'not_found') ? error : cause;
    });
    // No other client has chosen this random id, so the document is this one.
    if (existing.fileHash === fileHash) return existing;
    throw error;
  }
}
