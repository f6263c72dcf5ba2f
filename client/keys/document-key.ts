import { randomBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { unwrapKey, wrapKey } from '../crypto/aes-kw.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import { keyBytes } from '../crypto/key.ts';

const wrapLabel = 'Service_Document_Key_Wrap_v1';

/**
 * Creates the key of a document, 32 bytes. The key decrypts the metadata and all versions of the
 * document, and a share passes it to the recipient.
 */
export function createDocumentKey(): Bytes {
  return randomBytes(keyBytes);
}

/** Wraps a document key under the master key: `wrappedKeyBytes` bytes. */
export async function wrapDocumentKey(masterKey: Bytes, documentKey: Bytes): Promise<Bytes> {
  return wrapKey(await deriveKey(masterKey, wrapLabel), documentKey);
}

/** Unwraps a document key. Throws invalid_envelope for a wrong master key. */
export async function unwrapDocumentKey(masterKey: Bytes, wrapped: Bytes): Promise<Bytes> {
  return unwrapKey(await deriveKey(masterKey, wrapLabel), wrapped);
}
