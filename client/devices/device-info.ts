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
/** Maximum bytes of a description before encryption; the vault accepts 1 KiB of encrypted text. */
const maxTextBytes = 768;

/**
 * The description of a device, which only the device's user can decrypt. Unknown members are
 * dropped.
 */
const DeviceInfo = z.object({
  name: z.string(),
  platform: z.string(),
  /** The device's X25519 public key, 32 bytes, for which a rekey wraps the new master key. */
  publicKey: Key.optional(),
});
export type DeviceInfo = z.output<typeof DeviceInfo>;

/**
 * Encrypts the description of a device and resolves with base64. Padding keeps the length from
 * disclosing the length of the name. Pass `nonce` in tests with vectors only. Throws TypeError if
 * name or platform is not a string, if the key does not have 32 bytes, or if name and platform are
 * too long, together more than about 600 bytes.
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
 * Decrypts the description of a device. Throws invalid_device_info for a wrong master key, a
 * description of another device, an unknown format version or changed data.
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

/** Returns the additional authenticated data, which binds a description to its device. */
function bindTo(deviceId: string): Bytes {
  return concatBytes(Uint8Array.of(formatVersion), utf8ToBytes(deviceId.toLowerCase()));
}
