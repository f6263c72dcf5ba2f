import { z } from 'zod';

export const DEVICE_ENVELOPE_PATH = '/v1/crypto/keys/device-envelope';

/** The master key wrapped for a device: base64 of 40 bytes. */
export const DeviceEnvelope = z.object({ encryptedEnvelope: z.base64().length(56) });

export function deviceEnvelopePath(deviceId: string): string {
  return `${DEVICE_ENVELOPE_PATH}/${encodeURIComponent(deviceId)}`;
}
