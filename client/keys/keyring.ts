import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { parseJson } from '../bytes/json.ts';
import { ClientError } from '../errors/client-error.ts';
import { decryptGcm, deriveGcmKey, encryptGcm, nonceBytes } from '../crypto/aes-gcm.ts';
import { Key, keyBytes } from '../crypto/key.ts';
import { generationOf } from './master-keys.ts';

const keyringLabel = 'Service_Keyring_v3';
const formatVersion = 3;
const generationBytes = 4;
const prefixBytes = 1 + generationBytes + keyBytes;
/** Maximum bytes of an encrypted keyring that the vault accepts. */
const maxBytes = 65_536;

const RekeyList = z.object({
  /** The random id under which its records were written. */
  writer: z.guid(),
  /** Number of the last record. */
  number: z.int().positive(),
  /** SHA3-256 of the last record, 64 hex digits. Each record names the hash of the one before. */
  hash: z.string(),
});
/** The records that list the documents which were in the vault at a rekey. */
export type RekeyList = z.output<typeof RekeyList>;

const Content = z.object({
  /** The earlier master keys, base64 of 32 bytes each, newest first. */
  earlierKeys: z.array(Key),
  /** The private keys of earlier identities, newest first. */
  earlierIdentities: z.array(z.object({ privateKey: Key, signingSeed: Key })),
  devices: z.array(z.object({ deviceId: z.guid(), publicKey: Key })),
  list: RekeyList.optional(),
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
  /** Undefined if another client carried out the rekey, or none took place. */
  readonly list?: RekeyList | undefined;
}

/** The part of a keyring that is not encrypted. */
export interface KeyringHeader {
  /** The generation of the master key under which the keyring is encrypted. */
  readonly generation: number;
  /** The public key of the rekey, with which devices open the new master key. */
  readonly rekeyKey: Bytes;
}

/**
 * Encrypts a keyring and returns base64. Its header stays in plaintext, since it is needed to open
 * the new master key. Pass `nonce` in tests with vectors only. Throws keyring_full if the result
 * exceeds 64 KiB, which takes over three hundred rekeys.
 */
export async function sealKeyring(
  { masterKey, rekeyKey }: { readonly masterKey: Bytes; readonly rekeyKey: Bytes },
  { earlierKeys, earlierIdentities, publicKeys, list }: Keyring,
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
    ...(list !== undefined && { list }),
  });
  const prefix = encodeHeader({ generation: generationOf({ earlierKeys }), rekeyKey });
  const encoded = utf8ToBytes(text);
  const key = await deriveGcmKey(masterKey, keyringLabel);
  const sealed = concatBytes(prefix, await encryptGcm(key, encoded, prefix, nonce));
  wipe(encoded);
  if (sealed.length > maxBytes) throw new ClientError('keyring_full');
  return encodeBase64(sealed);
}

/**
 * Decrypts a keyring. Throws invalid_keyring for a wrong master key, an unknown format version,
 * changed data, or another number of earlier master keys than its generation needs.
 */
export async function openKeyring(masterKey: Bytes, keyring: string): Promise<Keyring> {
  try {
    const bytes = decode(keyring);
    const key = await deriveGcmKey(masterKey, keyringLabel);
    const prefix = bytes.slice(0, prefixBytes);
    const opened = await decryptGcm(key, bytes.slice(prefixBytes), prefix);
    const content = parseJson(opened);
    wipe(opened);
    const { earlierKeys, earlierIdentities, devices, list } = Content.parse(content);
    if (generationOf({ earlierKeys }) !== readHeader(bytes).generation) {
      throw new RangeError('The keyring is not of its generation.');
    }
    const publicKeys = new Map(devices.map(({ deviceId, publicKey }) => [deviceId, publicKey]));
    const kept = { earlierKeys, earlierIdentities, publicKeys };
    return list === undefined ? kept : { ...kept, list };
  } catch {
    // The error has no cause, because a cause could quote a key.
    throw new ClientError('invalid_keyring');
  }
}

/**
 * Returns the header of an encrypted keyring, or undefined if there is no keyring: no rekey took
 * place then. The header is not authenticated until `openKeyring` has decrypted the keyring. Throws
 * invalid_keyring if the keyring is malformed.
 */
export function readKeyringHeader(keyring: string | null): KeyringHeader | undefined {
  if (keyring === null) return undefined;
  try {
    return readHeader(decode(keyring));
  } catch (cause) {
    throw new ClientError('invalid_keyring', { cause });
  }
}

/** Returns the generation of the master key that belongs to a keyring, like `readKeyringHeader`. */
export function readGeneration(keyring: string | null): number {
  return readKeyringHeader(keyring)?.generation ?? 1;
}

function encodeHeader({ generation, rekeyKey }: KeyringHeader): Bytes {
  const start = new Uint8Array(1 + generationBytes);
  const view = new DataView(start.buffer);
  view.setUint8(0, formatVersion);
  view.setUint32(1, generation);
  return concatBytes(start, rekeyKey);
}

function readHeader(bytes: Bytes): KeyringHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return {
    generation: view.getUint32(1),
    rekeyKey: bytes.slice(1 + generationBytes, prefixBytes),
  };
}

function decode(keyring: string): Bytes {
  const bytes = decodeBase64(keyring);
  if (bytes[0] !== formatVersion || bytes.length < prefixBytes + nonceBytes) {
    throw new RangeError('The keyring has an unknown version or is too short.');
  }
  return bytes;
}
