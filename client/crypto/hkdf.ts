import { utf8ToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { keyBytes } from './key.ts';

const noSalt = new Uint8Array(0);

/**
 * Derives 32 bytes with HKDF-SHA-256 (RFC 5869) with the label as info. Throws TypeError unless the
 * key has 32 bytes: HKDF would accept an empty key, and the result would be no secret.
 */
export async function deriveKey(key: Bytes, label: string, salt: Bytes = noSalt): Promise<Bytes> {
  if (key.length !== keyBytes) throw new TypeError('A key must have 32 bytes.');
  const material = await crypto.subtle.importKey('raw', key, 'HKDF', false, ['deriveBits']);
  const algorithm = { name: 'HKDF', hash: 'SHA-256', salt, info: utf8ToBytes(label) };
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, material, 256));
}
