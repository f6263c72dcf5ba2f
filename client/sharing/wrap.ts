import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { openSealed, sealTo } from '../crypto/hpke.ts';
import { encodeVersion, type VersionName } from '../keys/document-key.ts';

const shareLabel = 'Service_Document_Share_v1';
const versionLabel = 'Service_Version_Share_v1';

/**
 * Encrypts a document key for the owner of a sharing key and binds it to the document; resolves
 * with 80 bytes.
 */
export function sealDocumentKey(
  publicKey: Bytes,
  documentId: string,
  documentKey: Bytes,
): Promise<Bytes> {
  return sealTo(publicKey, infoOf(documentId), documentKey);
}

/**
 * Opens a sealed document key. Throws for a wrong private key, another document or changed bytes.
 */
export function openDocumentKey(
  privateKey: Bytes,
  documentId: string,
  wrappedKey: Bytes,
): Promise<Bytes> {
  return openSealed(privateKey, infoOf(documentId), wrappedKey);
}

/** Encrypts the key of one version as `sealDocumentKey` does, and binds it to the version. */
export function sealVersionKey(
  publicKey: Bytes,
  name: VersionName,
  versionKey: Bytes,
): Promise<Bytes> {
  return sealTo(publicKey, infoOfVersion(name), versionKey);
}

/** Opens a sealed version key. Throws as `openDocumentKey` does, and for another version. */
export function openVersionKey(
  privateKey: Bytes,
  name: VersionName,
  wrappedKey: Bytes,
): Promise<Bytes> {
  return openSealed(privateKey, infoOfVersion(name), wrappedKey);
}

function infoOfVersion(name: VersionName): Bytes {
  return concatBytes(utf8ToBytes(versionLabel), encodeVersion(name));
}

function infoOf(documentId: string): Bytes {
  return utf8ToBytes(shareLabel + documentId.toLowerCase());
}
