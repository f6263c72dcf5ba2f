import { concatBytes, randomBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import { wipe } from '../bytes/bytes.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../client-error.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import { KEY_BYTES } from './document-key.ts';

const KEYRING_LABEL = 'Service_Keyring_v1';
const VERSION = 1;
const PREFIX_BYTES = 1 + KEY_BYTES;
const NONCE_BYTES = 12;
/** What the vault takes. */
const MAX_BYTES = 65_536;

const Key = z
  .base64()
  .transform(decodeBase64)
  .refine((key) => key.length === KEY_BYTES);

const Content = z.object({
  /** Base64 of 32 bytes each, newest first. */
  earlierKeys: z.array(Key),
  devices: z.array(z.object({ deviceId: z.guid(), publicKey: Key })),
});

/** What a rekey leaves for those who have the new master key. */
export interface Keyring {
  /** The master keys that there were, newest first. */
  readonly earlierKeys: readonly Bytes[];
  /** Of the devices that the rekey kept, by their ids. */
  readonly publicKeys: ReadonlyMap<string, Bytes>;
}

/**
 * Base64. `rekeyKey` is the public key of the rekey, by which devices come to the new master key; it
 * stays readable, since they need it before they have that. `nonce` is for test vectors only. Throws
 * keyring_full beyond 64 KiB, after more than a thousand rekeys.
 */
export async function sealKeyring(
  { masterKey, rekeyKey }: { masterKey: Bytes; rekeyKey: Bytes },
  { earlierKeys, publicKeys }: Keyring,
  nonce: Bytes = randomBytes(NONCE_BYTES),
): Promise<string> {
  const text = JSON.stringify({
    earlierKeys: earlierKeys.map(encodeBase64),
    devices: Array.from(publicKeys, ([deviceId, publicKey]) => ({
      deviceId,
      publicKey: encodeBase64(publicKey),
    })),
  });
  const prefix = concatBytes(Uint8Array.of(VERSION), rekeyKey);
  const encoded = utf8ToBytes(text);
  const algorithm = { name: 'AES-GCM', iv: nonce, additionalData: prefix };
  const ciphertext = await crypto.subtle.encrypt(algorithm, await gcmKey(masterKey), encoded);
  wipe(encoded);
  const sealed = concatBytes(prefix, nonce, new Uint8Array(ciphertext));
  if (sealed.length > MAX_BYTES) throw new ClientError('keyring_full');
  return encodeBase64(sealed);
}

/** Throws invalid_keyring for another master key, another version or changed data. */
export async function openKeyring(masterKey: Bytes, keyring: string): Promise<Keyring> {
  try {
    const bytes = decode(keyring);
    const ciphertextAt = PREFIX_BYTES + NONCE_BYTES;
    const iv = bytes.slice(PREFIX_BYTES, ciphertextAt);
    const algorithm = { name: 'AES-GCM', iv, additionalData: bytes.slice(0, PREFIX_BYTES) };
    const key = await gcmKey(masterKey);
    const decrypted = await crypto.subtle.decrypt(algorithm, key, bytes.slice(ciphertextAt));
    const text = new TextDecoder('utf-8', { fatal: true }).decode(decrypted);
    wipe(new Uint8Array(decrypted));
    const { earlierKeys, devices } = Content.parse(JSON.parse(text));
    const publicKeys = new Map(devices.map(({ deviceId, publicKey }) => [deviceId, publicKey]));
    return { earlierKeys, publicKeys };
  } catch {
    // Without a cause: it could quote a key.
    throw new ClientError('invalid_keyring');
  }
}

/** The public key of the rekey, which nothing vouches for before the keyring is open. */
export function readRekeyKey(keyring: string): Bytes {
  try {
    return decode(keyring).slice(1, PREFIX_BYTES);
  } catch (cause) {
    throw new ClientError('invalid_keyring', { cause });
  }
}

function decode(keyring: string): Bytes {
  const bytes = decodeBase64(keyring);
  if (bytes[0] !== VERSION || bytes.length < PREFIX_BYTES + NONCE_BYTES) {
    throw new RangeError('unknown version or too short');
  }
  return bytes;
}

async function gcmKey(masterKey: Bytes) {
  const key = await deriveKey(masterKey, KEYRING_LABEL);
  return crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt', 'decrypt']);
}
