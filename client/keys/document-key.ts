import { randomBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { unwrapKey, wrapKey } from '../crypto/aes-kw.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import { keyBytes } from '../crypto/key.ts';

const wrapLabel = 'Service_Document_Key_Wrap_v1';

/** One key a document: it opens the metadata and the file, and sharing a document is sharing it. */
export function createDocumentKey(): Bytes {
  return randomBytes(keyBytes);
}

/** WRAPPED_KEY_BYTES. */
export async function wrapDocumentKey(masterKey: Bytes, documentKey: Bytes): Promise<Bytes> {
  return wrapKey(await deriveKey(masterKey, wrapLabel), documentKey);
}

/** Throws invalid_envelope under another master key. */
export async function unwrapDocumentKey(masterKey: Bytes, wrapped: Bytes): Promise<Bytes> {
  return unwrapKey(await deriveKey(masterKey, wrapLabel), wrapped);
}
