import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { parseJson } from '../bytes/json.ts';
import { ClientError } from '../errors/client-error.ts';
import { decryptGcm, deriveGcmKey, encryptGcm, nonceBytes } from '../crypto/aes-gcm.ts';
import { Key, keyBytes } from '../crypto/key.ts';

const keyringLabel = 'Service_Keyring_v2';
const formatVersion = 2;
const prefixBytes = 1 + keyBytes;
/** Maximum bytes of an encrypted keyring that the vault accepts. */
const maxBytes = 65_536;

const Content = z.object({
  /** The earlier master keys, base64 of 32 bytes each, newest first. */
  earlierKeys: z.array(Key),
  /** The private keys of earlier identities, newest first. */
  earlierIdentities: z.array(z.object({ privateKey: Key, signingSeed: Key })),
  devices: z.array(z.object({ deviceId: z.guid(), publicKey: Key })),
});

/** The private half of an identity, 32 bytes each. */
export interface PrivateIdentity {
  /** The private X25519 key, which opens what is shared with the user. */
  readonly privateKey: Bytes;
  /** The private Ed25519 key (RFC 8032). */
  readonly signingSeed: Bytes;
}

/** The keys that a rekey encrypts under the new master key. */
export interface Keyring {
  /** All earlier master keys, newest first. */
  readonly earlierKeys: readonly Bytes[];
  /** All earlier identities, newest first. */
  readonly earlierIdentities: readonly PrivateIdentity[];
  /** Public keys of the devices that the rekey kept, by device id. */
  readonly publicKeys: ReadonlyMap<string, Bytes>;
}

/**
 * Encrypts a keyring and returns base64. `rekeyKey`, the public key of the rekey, stays in
 * plaintext, since devices need it to open the new master key. Pass `nonce` in tests with vectors
 * only. Throws keyring_full if the result exceeds 64 KiB, which takes over three hundred rekeys.
 */
export async function sealKeyring(
  { masterKey, rekeyKey }: { readonly masterKey: Bytes; readonly rekeyKey: Bytes },
  { earlierKeys, earlierIdentities, publicKeys }: Keyring,
  nonce?: Bytes,
): Promise<string> {
  const text = JSON.stringify({
    earlierKeys: earlierKeys.map(encodeBase64),
    earlierIdentities: earlierIdentities.map(({ privateKey, signingSeed }) => ({
      privateKey: encodeBase64(privateKey),
      signingSeed: encodeBase64(signingSeed),
    })),
    devices: Array.from(publicKeys, ([deviceId, publicKey]) => ({
      deviceId,
      publicKey: encodeBase64(publicKey),
    })),
  });
  const prefix = concatBytes(Uint8Array.of(formatVersion), rekeyKey);
  const encoded = utf8ToBytes(text);
  const key = await deriveGcmKey(masterKey, keyringLabel);
  const sealed = concatBytes(prefix, await encryptGcm(key, encoded, prefix, nonce));
  wipe(encoded);
  if (sealed.length > maxBytes) throw new ClientError('keyring_full');
  return encodeBase64(sealed);
}

/**
 * Decrypts a keyring. Throws invalid_keyring for a wrong master key, an unknown format version or
 * changed data.
 */
export async function openKeyring(masterKey: Bytes, keyring: string): Promise<Keyring> {
  try {
    const bytes = decode(keyring);
    const key = await deriveGcmKey(masterKey, keyringLabel);
    const prefix = bytes.slice(0, prefixBytes);
    const opened = await decryptGcm(key, bytes.slice(prefixBytes), prefix);
    const content = parseJson(opened);
    wipe(opened);
    const { earlierKeys, earlierIdentities, devices } = Content.parse(content);
    const publicKeys = new Map(devices.map(({ deviceId, publicKey }) => [deviceId, publicKey]));
    return { earlierKeys, earlierIdentities, publicKeys };
  } catch {
    // The error has no cause, because a cause could quote a key.
    throw new ClientError('invalid_keyring');
  }
}

/**
 * Returns the public key of the rekey from an encrypted keyring. The key is not authenticated until
 * `openKeyring` has decrypted the keyring. Throws invalid_keyring if the keyring is malformed.
 */
export function readRekeyKey(keyring: string): Bytes {
  try {
    return decode(keyring).slice(1, prefixBytes);
  } catch (cause) {
    throw new ClientError('invalid_keyring', { cause });
  }
}

function decode(keyring: string): Bytes {
  const bytes = decodeBase64(keyring);
  if (bytes[0] !== formatVersion || bytes.length < prefixBytes + nonceBytes) {
    throw new RangeError('The keyring has an unknown version or is too short.');
  }
  return bytes;
}
