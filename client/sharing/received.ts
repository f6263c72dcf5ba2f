import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { DocumentStatus, FileHash } from '../documents/fields.ts';
import { openMetadata, type PlacedMetadata } from '../documents/metadata.ts';
import type { StoredFile } from '../files/stored-file.ts';
import { deriveFileKey } from '../keys/document-key.ts';
import { openDocumentKey } from './wrap.ts';

/** A document that another user shares with this user, as the vault returns it. */
export const ReceivedShare = z.object({
  shareId: z.uuid(),
  documentId: z.uuid(),
  ownerId: z.uuid(),
  /** The document key, sealed for this user's sharing key; base64 of 80 bytes. */
  wrappedKey: z.string(),
  permissions: z.array(z.string()),
  /** Base64, for `openMetadata`. */
  encryptedMetadata: z.string(),
  fileHash: FileHash,
  status: DocumentStatus,
  expiresAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
});
export type ReceivedShare = z.output<typeof ReceivedShare>;

/** A share that was opened. Pass it to `downloadFile` to download the file. */
export type OpenedShare = ReceivedShare &
  StoredFile &
  PlacedMetadata & {
    /** The key of the document, 32 bytes. */
    readonly documentKey: Bytes;
  };

/**
 * Decrypts the document key and the metadata of a share. Throws invalid_share if the share was made
 * for another sharing key or document or is damaged, document_mismatch if the metadata is of
 * another document, and metadata_mismatch if it describes another file.
 */
export async function openShare(privateKey: Bytes, share: ReceivedShare): Promise<OpenedShare> {
  const { documentKey, metadata, place } = await decryptShare(privateKey, share);
  if (metadata.fileHash !== share.fileHash) throw new ClientError('metadata_mismatch');
  const fileKey = await deriveFileKey(documentKey, place);
  return { ...share, version: place.version, fileKey, documentKey, metadata, place };
}

async function decryptShare(
  privateKey: Bytes,
  { documentId, wrappedKey, encryptedMetadata }: ReceivedShare,
): Promise<Pick<OpenedShare, 'documentKey' | 'metadata' | 'place'>> {
  try {
    const documentKey = await openDocumentKey(privateKey, documentId, decodeBase64(wrappedKey));
    return { documentKey, ...(await openMetadata(documentKey, { documentId }, encryptedMetadata)) };
  } catch (cause) {
    if (cause instanceof ClientError && cause.code === 'document_mismatch') throw cause;
    throw new ClientError('invalid_share', { cause });
  }
}
