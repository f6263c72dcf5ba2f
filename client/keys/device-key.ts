import { x25519 } from '@noble/curves/ed25519.js';
import { concatBytes, randomBytes } from '@noble/hashes/utils.js';
import { wipe, type Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { deriveKey } from '../crypto/hkdf.ts';
import type { KeyPair } from '../crypto/hpke.ts';
import { keyBytes } from '../crypto/key.ts';
import { readKeyringHeader } from './keyring.ts';
import { unwrapMasterKey, wrapMasterKey } from './master-key-wrap.ts';
import type { NumberedKey } from './master-keys.ts';

const keyPairLabel = 'Service_Device_Key_Pair_v1';
const envelopeLabel = 'Service_Device_Envelope_v1';

/**
 * The id of a device and its secret key, with which the device opens the master key. Keep the key
 * where only the client can read it.
 */
export interface DeviceKey {
  /** A random UUID in lower case. */
  readonly deviceId: string;
  /** K_device, 32 bytes. */
  readonly deviceKey: Bytes;
}

/** Creates the id and key of a device. Save them durably before the device is added. */
export function createDeviceKey(): DeviceKey {
  return { deviceId: crypto.randomUUID(), deviceKey: randomBytes(keyBytes) };
}

/**
 * Derives the X25519 key pair of a device. With the public key, other devices can wrap a new master
 * key for this device.
 */
export async function deriveDeviceKeyPair(deviceKey: Bytes): Promise<KeyPair> {
  const privateKey = await deriveKey(deviceKey, keyPairLabel);
  return { privateKey, publicKey: publicKeyOf(privateKey) };
}

/** Creates the key pair of one rekey. Use the private key for that rekey only, then wipe it. */
export function createRekeyKeyPair(privateKey: Bytes = randomBytes(keyBytes)): KeyPair {
  return { privateKey, publicKey: publicKeyOf(privateKey) };
}

/**
 * Wraps the new master key for a device that a rekey keeps. Throws invalid_envelope for a public
 * key of small order.
 */
export async function wrapForDevice(
  rekeyPair: KeyPair,
  { deviceId, publicKey }: { readonly deviceId: string; readonly publicKey: Bytes },
  masterKey: NumberedKey,
): Promise<Bytes> {
  const shared = agree(rekeyPair.privateKey, publicKey);
  const context = { deviceId, publicKey, rekeyKey: rekeyPair.publicKey };
  return wrapMasterKey(await deriveAgreedKey(shared, context), masterKey);
}

/**
 * Opens a device's envelope and resolves with the master key. An envelope from `Devices.add` is
 * opened with K_device; an envelope from a rekey is opened with the device's key pair and the
 * public key of the rekey, which the keyring contains. Throws invalid_envelope, or invalid_keyring
 * if the keyring is malformed.
 */
export async function unwrapOnDevice(
  { deviceId, deviceKey }: DeviceKey,
  envelope: Bytes,
  keyring: string | null,
): Promise<Bytes> {
  const header = readKeyringHeader(keyring);
  try {
    return await unwrapMasterKey(deviceKey, envelope, header?.generation ?? 1);
  } catch (error) {
    if (!(error instanceof ClientError) || header === undefined) throw error;
  }
  const { generation, rekeyKey } = header;
  const { privateKey, publicKey } = await deriveDeviceKeyPair(deviceKey);
  const shared = agree(privateKey, rekeyKey);
  wipe(privateKey);
  const agreed = await deriveAgreedKey(shared, { deviceId, publicKey, rekeyKey });
  return unwrapMasterKey(agreed, envelope, generation);
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

/**
 * Derives the key on which a device and a rekey agree from the shared secret, both public keys and
 * the device's id, and wipes the shared secret.
 */
async function deriveAgreedKey(
  shared: Bytes,
  {
    deviceId,
    publicKey,
    rekeyKey,
  }: { readonly deviceId: string; readonly publicKey: Bytes; readonly rekeyKey: Bytes },
): Promise<Bytes> {
  const salt = concatBytes(rekeyKey, publicKey);
  const agreed = await deriveKey(shared, envelopeLabel + deviceId.toLowerCase(), salt);
  wipe(shared);
  return agreed;
}
