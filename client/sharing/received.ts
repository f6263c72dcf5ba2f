import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { Key } from '../crypto/key.ts';
import { ClientError, type ClientErrorCode } from '../errors/client-error.ts';
import { DocumentStatus, FileHash } from '../documents/fields.ts';
import { openMetadata, type PlacedMetadata } from '../documents/metadata.ts';
import type { StoredFile } from '../files/stored-file.ts';
import { fingerprintOf, type Identity } from '../identity/identity.ts';
import { deriveFileKey, versionKeyOf, type ReadingKey } from '../keys/document-key.ts';
import { isShareSignedBy } from './share-signature.ts';
import { openDocumentKey, openVersionKey } from './wrap.ts';

/** A document that another user shares with this user, as the vault returns it. */
export const ReceivedShare = z.object({
  shareId: z.uuid(),
  documentId: z.uuid(),
  ownerId: z.uuid(),
  /** The only version that is shared; null for all. */
  version: z.int().positive().nullable(),
  /** The key of document or version, sealed for this user's sharing key; base64 of 80 bytes. */
  wrappedKey: z.string(),
  permissions: z.array(z.string()),
  /** Base64, for `openMetadata`. */
  encryptedMetadata: z.string(),
  fileHash: FileHash,
  status: DocumentStatus,
  expiresAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime(),
  /** The signature of the sharer's client, base64; null if it sent none. */
  signature: z.string().nullable(),
  /** The sharer's identity as the vault shows it; null if the sharer had none. */
  sharer: z.object({ publicKey: Key, signingKey: Key }).nullable(),
});
export type ReceivedShare = z.output<typeof ReceivedShare>;

/** A share that was opened. Pass it to `downloadFile` to download the file. */
export type OpenedShare = ReceivedShare &
  StoredFile &
  PlacedMetadata & {
    /** The key of the version in `version`, 32 bytes. */
    readonly versionKey: Bytes;
    /** The key of the document, 32 bytes; undefined if only one version is shared. */
    readonly documentKey?: Bytes;
    /**
     * The fingerprint of the identity that signed the share, 32 hex digits; undefined if nobody
     * did, so that `ownerId` is the vault's word alone.
     */
    readonly sharerFingerprint: string | undefined;
    /** SHA3-256 of the sealed key, 64 hex digits, by which the share is remembered. */
    readonly keyHash: string;
  };

/** An opened share, with the person who signed it. */
export type ConfirmedShare = OpenedShare & {
  /**
   * The e-mail address under which the user confirmed the keys that signed the share; undefined if
   * there is none. Show this name to the user, and none that the vault gives: a stranger may share
   * under any `ownerId`.
   */
  readonly signedBy: string | undefined;
};

/**
 * Decrypts the key and the metadata of a share, and verifies who signed it. Throws invalid_share if
 * the share was made for another identity, document or version, is damaged or has a wrong
 * signature, document_mismatch or version_mismatch if the metadata is of another place, and
 * metadata_mismatch if it describes another file.
 */
export async function openShare(recipient: Identity, share: ReceivedShare): Promise<OpenedShare> {
  const sharerFingerprint = findSigner(recipient, share);
  const { key, ...opened } = await decryptShare(recipient, share);
  const { metadata, place } = opened;
  if (metadata.fileHash !== share.fileHash) throw new ClientError('metadata_mismatch');
  const versionKey = await versionKeyOf(key, place);
  const fileKey = await deriveFileKey({ versionKey }, place);
  const keys = { ...key, versionKey, fileKey };
  const keyHash = bytesToHex(sha3_256(decodeBase64(share.wrappedKey)));
  return { ...share, ...keys, ...opened, version: place.version, sharerFingerprint, keyHash };
}

/**
 * Opens a share as `openShare` does, for the first of several identities of the user for which it
 * was made. Throws the error of the first identity if it was made for none.
 */
export async function openShareWithAny(
  recipients: readonly Identity[],
  share: ReceivedShare,
): Promise<OpenedShare> {
  let first: ClientError | undefined;
  for (const recipient of recipients) {
    try {
      return await openShare(recipient, share);
    } catch (error) {
      if (!(error instanceof ClientError)) throw error;
      first ??= error;
    }
  }
  throw first;
}

/**
 * Returns the fingerprint of the identity that signed a share; undefined if nobody did. Throws
 * invalid_share for a wrong signature.
 */
function findSigner(recipient: Identity, share: ReceivedShare): string | undefined {
  const { documentId, version, signature, sharer } = share;
  if (signature === null) return undefined;
  const wrappedKey = decodeBase64(share.wrappedKey);
  const signed = { documentId, version, recipient, wrappedKey, signature };
  if (sharer === null || !isShareSignedBy(sharer, signed)) throw new ClientError('invalid_share');
  return fingerprintOf(sharer);
}

/** Codes of errors that say of which other place the metadata is. */
const elsewhere: ReadonlySet<ClientErrorCode> = new Set(['document_mismatch', 'version_mismatch']);

async function decryptShare(
  { privateKey }: Identity,
  { documentId, version, wrappedKey, encryptedMetadata }: ReceivedShare,
): Promise<PlacedMetadata & { readonly key: ReadingKey }> {
  const sealed = decodeBase64(wrappedKey);
  try {
    const key =
      version === null
        ? { documentKey: await openDocumentKey(privateKey, documentId, sealed) }
        : { versionKey: await openVersionKey(privateKey, { documentId, version }, sealed) };
    const expected = { documentId, version: version ?? undefined };
    return { key, ...(await openMetadata(key, expected, encryptedMetadata)) };
  } catch (cause) {
    if (cause instanceof ClientError && elsewhere.has(cause.code)) throw cause;
    throw new ClientError('invalid_share', { cause });
  }
}
