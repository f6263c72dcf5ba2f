import { concatBytes, randomBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { deriveKey } from './hkdf.ts';

export const nonceBytes = 12;
export const tagBytes = 16;

export type GcmKey = Awaited<ReturnType<typeof deriveGcmKey>>;

/** Derives an AES-256-GCM key from `key` by HKDF-SHA-256 with the label as info. */
export async function deriveGcmKey(key: Bytes, label: string, salt?: Bytes) {
  const derived = await deriveKey(key, label, salt);
  return crypto.subtle.importKey('raw', derived, 'AES-GCM', false, ['encrypt', 'decrypt']);
}

/**
 * Encrypts and returns nonce (12 bytes) ‖ ciphertext ‖ tag (16 bytes). Pass `nonce` in tests with
 * vectors only.
 */
export async function encryptGcm(
  key: GcmKey,
  text: Bytes,
  additionalData: Bytes,
  nonce: Bytes = randomBytes(nonceBytes),
): Promise<Bytes> {
  const algorithm = { name: 'AES-GCM', iv: nonce, additionalData };
  return concatBytes(nonce, new Uint8Array(await crypto.subtle.encrypt(algorithm, key, text)));
}

/**
 * Decrypts what `encryptGcm` returned. Throws for a wrong key, different additional data or changed
 * bytes.
 */
export async function decryptGcm(
  key: GcmKey,
  sealed: Bytes,
  additionalData: Bytes,
): Promise<Bytes> {
  const iv = sealed.slice(0, nonceBytes);
  const algorithm = { name: 'AES-GCM', iv, additionalData };
  const ciphertext = sealed.slice(nonceBytes);
  return new Uint8Array(await crypto.subtle.decrypt(algorithm, key, ciphertext));
}
