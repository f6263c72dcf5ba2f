import { utf8ToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { keyBytes } from './key.ts';

const noSalt = new Uint8Array(0);

/**
 * 32 bytes of HKDF-SHA-256 (RFC 5869) with the label as info. Throws TypeError unless the key has as
 * many: HKDF takes an empty one too, and what everybody knows would keep no secret.
 */
export async function deriveKey(key: Bytes, label: string, salt: Bytes = noSalt): Promise<Bytes> {
  if (key.length !== keyBytes) throw new TypeError('a key has 32 bytes');
  const material = await crypto.subtle.importKey('raw', key, 'HKDF', false, ['deriveBits']);
  const algorithm = { name: 'HKDF', hash: 'SHA-256', salt, info: utf8ToBytes(label) };
  return new Uint8Array(await crypto.subtle.deriveBits(algorithm, material, 256));
}
