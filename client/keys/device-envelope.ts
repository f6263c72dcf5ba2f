import { z } from 'zod';
import { WrappedKey } from '../crypto/key.ts';

export const DEVICE_ENVELOPE_PATH = '/v1/crypto/keys/device-envelope';

/** The master key wrapped for a device. */
export const DeviceEnvelope = z.object({ encryptedEnvelope: WrappedKey });

export function deviceEnvelopePath(deviceId: string): string {
  return `${DEVICE_ENVELOPE_PATH}/${encodeURIComponent(deviceId)}`;
}
