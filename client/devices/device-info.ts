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
/** The vault takes 1 KiB in all. */
const maxTextBytes = 768;

/** What only the user may know of a device. Unknown members are dropped. */
const DeviceInfo = z.object({
  name: z.string(),
  platform: z.string(),
  /** By which a rekey reaches the device: X25519, 32 bytes. */
  publicKey: Key.optional(),
});
export type DeviceInfo = z.output<typeof DeviceInfo>;

/**
 * Base64, padded so that its length does not tell the name's. `nonce` is for test vectors only. Throws
 * TypeError where name or platform is no text, or they are too long, together more than about 600 bytes.
 */
export async function encryptDeviceInfo(
  { masterKey, deviceId }: { masterKey: Bytes; deviceId: string },
  { name, platform, publicKey }: DeviceInfo,
  nonce?: Bytes,
): Promise<string> {
  const members = { name, platform, publicKey: publicKey && encodeBase64(publicKey) };
  if (!DeviceInfo.safeParse(members).success) {
    throw new TypeError('what is told of a device could not be read again');
  }
  const json = utf8ToBytes(JSON.stringify(members));
  const length = Math.ceil(json.length / paddingBytes) * paddingBytes;
  if (length > maxTextBytes) throw new TypeError('name and platform of a device are too long');
  const key = await deriveGcmKey(masterKey, infoLabel);
  const sealed = await encryptGcm(key, padJson(json, length), bindTo(deviceId), nonce);
  return encodeBase64(concatBytes(Uint8Array.of(formatVersion), sealed));
}

/** Throws invalid_device_info for another master key, another device, another version or changed data. */
export async function decryptDeviceInfo(
  { masterKey, deviceId }: { masterKey: Bytes; deviceId: string },
  encryptedInfo: string,
): Promise<DeviceInfo> {
  try {
    const bytes = decodeBase64(encryptedInfo);
    if (bytes[0] !== formatVersion || bytes.length < 1 + nonceBytes + tagBytes) {
      throw new RangeError('unknown version or too short');
    }
    const key = await deriveGcmKey(masterKey, infoLabel);
    return DeviceInfo.parse(parseJson(await decryptGcm(key, bytes.slice(1), bindTo(deviceId))));
  } catch (cause) {
    throw new ClientError('invalid_device_info', { cause });
  }
}

/** The additional data: no device's description serves another. */
function bindTo(deviceId: string): Bytes {
  return concatBytes(Uint8Array.of(formatVersion), utf8ToBytes(deviceId.toLowerCase()));
}
