import { x25519 } from '@noble/curves/ed25519.js';
import { concatBytes, randomBytes } from '@noble/hashes/utils.js';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { unwrapKey, wrapKey } from '../crypto/aes-kw.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import type { KeyPair } from '../crypto/hpke.ts';
import { keyBytes } from '../crypto/key.ts';
import { readRekeyKey } from './keyring.ts';

const keyPairLabel = 'Service_Device_Key_Pair_v1';
const envelopeLabel = 'Service_Device_Envelope_v1';

/** What a device keeps to itself, where nothing else reads it: it opens the master key. */
export interface DeviceKey {
  /** A random UUID in lower case. */
  readonly deviceId: string;
  /** K_device, 32 bytes. */
  readonly deviceKey: Bytes;
}

/** To be kept durably before the device is added. */
export function createDeviceKey(): DeviceKey {
  return { deviceId: crypto.randomUUID(), deviceKey: randomBytes(keyBytes) };
}

/** X25519: whoever has the public key can wrap a new master key for the device. */
export async function deriveDeviceKeyPair(deviceKey: Bytes): Promise<KeyPair> {
  const privateKey = await deriveKey(deviceKey, keyPairLabel);
  return { privateKey, publicKey: publicKeyOf(privateKey) };
}

/** The key pair of one rekey, whose private key is for one use and then wiped. */
export function createRekeyKeyPair(privateKey: Bytes = randomBytes(keyBytes)): KeyPair {
  return { privateKey, publicKey: publicKeyOf(privateKey) };
}

/** The envelope that a rekey leaves for a device. Throws for a public key of small order. */
export async function wrapForDevice(
  rekeyPair: KeyPair,
  { deviceId, publicKey }: { deviceId: string; publicKey: Bytes },
  masterKey: Bytes,
): Promise<Bytes> {
  const shared = agree(rekeyPair.privateKey, publicKey);
  const context = { deviceId, publicKey, rekeyKey: rekeyPair.publicKey };
  return wrapKey(await deriveWrappingKey(shared, context), masterKey);
}

/**
 * Opens a device's envelope: under K_device as the device was added, or as a rekey left it, with the
 * keyring beside it. Throws invalid_envelope.
 */
export async function unwrapOnDevice(
  { deviceId, deviceKey }: DeviceKey,
  envelope: Bytes,
  keyring: string | null,
): Promise<Bytes> {
  try {
    return await unwrapKey(deviceKey, envelope);
  } catch (error) {
    if (!(error instanceof ClientError) || keyring === null) throw error;
  }
  const rekeyKey = readRekeyKey(keyring);
  const { privateKey, publicKey } = await deriveDeviceKeyPair(deviceKey);
  const shared = agree(privateKey, rekeyKey);
  wipe(privateKey);
  return unwrapKey(await deriveWrappingKey(shared, { deviceId, publicKey, rekeyKey }), envelope);
}

function publicKeyOf(privateKey: Bytes): Bytes {
  return new Uint8Array(x25519.getPublicKey(privateKey));
}

function agree(privateKey: Bytes, publicKey: Bytes): Bytes {
  try {
    return new Uint8Array(x25519.getSharedSecret(privateKey, publicKey));
  } catch (cause) {
    throw new ClientError('invalid_envelope', { cause });
  }
}

/** Both public keys and the device's id are bound in. */
async function deriveWrappingKey(
  shared: Bytes,
  {
    deviceId,
    publicKey,
    rekeyKey,
  }: { readonly deviceId: string; readonly publicKey: Bytes; readonly rekeyKey: Bytes },
): Promise<Bytes> {
  const salt = concatBytes(rekeyKey, publicKey);
  const wrappingKey = await deriveKey(shared, envelopeLabel + deviceId.toLowerCase(), salt);
  wipe(shared);
  return wrappingKey;
}
