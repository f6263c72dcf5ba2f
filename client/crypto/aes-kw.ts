import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { keyBytes } from './key.ts';

const payloadAlgorithm = { name: 'AES-GCM' };

/**
 * Wraps `key` with AES-KW under a 256-bit wrapping key (RFC 3394). The result is 8 bytes longer
 * than `key`.
 */
export async function wrapKey(wrappingKey: Bytes, key: Bytes): Promise<Bytes> {
  const kek = await importWrappingKey(wrappingKey);
  const payload = await crypto.subtle.importKey('raw', key, payloadAlgorithm, true, ['encrypt']);
  return new Uint8Array(await crypto.subtle.wrapKey('raw', payload, kek, 'AES-KW'));
}

/** Unwraps a key. Throws invalid_envelope for a wrong wrapping key or a changed envelope. */
export async function unwrapKey(wrappingKey: Bytes, wrapped: Bytes): Promise<Bytes> {
  const kek = await importWrappingKey(wrappingKey);
  try {
    const payload = await crypto.subtle.unwrapKey(
      'raw',
      wrapped,
      kek,
      'AES-KW',
      payloadAlgorithm,
      true,
      ['encrypt'],
    );
    return new Uint8Array(await crypto.subtle.exportKey('raw', payload));
  } catch (cause) {
    throw new ClientError('invalid_envelope', { cause });
  }
}

function importWrappingKey(wrappingKey: Bytes) {
  if (wrappingKey.length !== keyBytes) throw new TypeError('A wrapping key must have 32 bytes.');
  return crypto.subtle.importKey('raw', wrappingKey, 'AES-KW', false, ['wrapKey', 'unwrapKey']);
}
