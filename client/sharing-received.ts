import { z } from 'zod';
import { decodeBase64 } from './base64.ts';
import type { Bytes } from './bytes.ts';
import { ClientError } from './client-error.ts';
import { DocumentStatus, FileHash } from './document-fields.ts';
import { openMetadata } from './metadata.ts';
import type { Metadata } from './metadata.ts';
import { openDocumentKey } from './sharing-wrap.ts';
import type { StoredFile } from './stored-file.ts';

/** A document that someone shares with the user, as the vault tells of it. */
export const ReceivedShare = z.object({
  shareId: z.uuid(),
  documentId: z.uuid(),
  ownerId: z.uuid(),
  /** Base64. */
  wrappedKey: z.string(),
  permissions: z.array(z.string()),
  /** Base64. */
  encryptedMetadata: z.string(),
  fileHash: FileHash,
  status: DocumentStatus,
  expiresAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
});
export type ReceivedShare = z.output<typeof ReceivedShare>;

/** With it `downloadFile` opens the file too. */
export type OpenedShare = ReceivedShare & StoredFile & { readonly metadata: Metadata };

/** Throws invalid_share if it was made for another key or document, or is not what it says. */
export async function openShare(privateKey: Bytes, share: ReceivedShare): Promise<OpenedShare> {
  try {
    const wrappedKey = decodeBase64(share.wrappedKey);
    const documentKey = await openDocumentKey(privateKey, share.documentId, wrappedKey);
    const metadata = await openMetadata(documentKey, share.encryptedMetadata);
    if (metadata.fileHash !== share.fileHash) throw new ClientError('file_hash_mismatch');
    return { ...share, documentKey, metadata };
  } catch (cause) {
    throw new ClientError('invalid_share', { cause });
  }
}
