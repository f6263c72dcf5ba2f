import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { decodeBase64, encodeBase64 } from '../bytes/base64.ts';
import type { Bytes } from '../bytes/bytes.ts';
import { padJson, parseJson } from '../bytes/json.ts';
import { ClientError } from '../errors/client-error.ts';
import { decryptGcm, deriveGcmKey, encryptGcm, nonceBytes, tagBytes } from '../crypto/aes-gcm.ts';
import { Key } from '../crypto/key.ts';

const infoLabel = 'Service_Device_Info_v1';
const formatVersion = 1;
const paddingBytes = 256;
/** The vault accepts 1 KiB of encrypted text. */
const maxTextBytes = 768;

/** A device's description, which only its user may read. Unknown members are dropped. */
const DeviceInfo = z.object({
  name: z.string(),
  platform: z.string(),
  /** X25519, 32 bytes: a rekey wraps the new master key for it. */
  publicKey: Key.optional(),
});
export type DeviceInfo = z.output<typeof DeviceInfo>;

/**
 * Encrypts a description and returns base64, padded so that its length does not disclose that of
 * the name. Pass `nonce` in tests with vectors only. Throws TypeError if name or platform is not a
 * string or if they are too long, together more than about 600 bytes.
 */
export async function encryptDeviceInfo(
  { masterKey, deviceId }: { readonly masterKey: Bytes; readonly deviceId: string },
  { name, platform, publicKey }: DeviceInfo,
  nonce?: Bytes,
): Promise<string> {
  const members = {
    name,
    platform,
    publicKey: publicKey === undefined ? undefined : encodeBase64(publicKey),
  };
  if (!DeviceInfo.safeParse(members).success) {
    throw new TypeError('The name and platform of a device must be strings, its key 32 bytes.');
  }
  const json = utf8ToBytes(JSON.stringify(members));
  const length = Math.ceil(json.length / paddingBytes) * paddingBytes;
  if (length > maxTextBytes) throw new TypeError('Name and platform of the device are too long.');
  const key = await deriveGcmKey(masterKey, infoLabel);
  const sealed = await encryptGcm(key, padJson(json, length), bindTo(deviceId), nonce);
  return encodeBase64(concatBytes(Uint8Array.of(formatVersion), sealed));
}

/**
 * Decrypts a description. Throws invalid_device_info for another master key, another device,
 * another version or changed data.
 */
export async function decryptDeviceInfo(
  { masterKey, deviceId }: { readonly masterKey: Bytes; readonly deviceId: string },
  encryptedInfo: string,
): Promise<DeviceInfo> {
  try {
    const bytes = decodeBase64(encryptedInfo);
    if (bytes[0] !== formatVersion || bytes.length < 1 + nonceBytes + tagBytes) {
      throw new RangeError('The description has an unknown version or is too short.');
    }
    const key = await deriveGcmKey(masterKey, infoLabel);
    return DeviceInfo.parse(parseJson(await decryptGcm(key, bytes.slice(1), bindTo(deviceId))));
  } catch (cause) {
    throw new ClientError('invalid_device_info', { cause });
  }
}

/** Returns the additional data, which binds a description to its device. */
function bindTo(deviceId: string): Bytes {
  return concatBytes(Uint8Array.of(formatVersion), utf8ToBytes(deviceId.toLowerCase()));
}
