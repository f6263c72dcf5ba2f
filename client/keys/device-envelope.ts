import { z } from 'zod';
import { WrappedKey } from '../crypto/key.ts';

export const deviceEnvelopeRoute = '/v1/crypto/keys/device-envelope';

/** The response with the master key wrapped for a device. */
export const DeviceEnvelope = z.object({ encryptedEnvelope: WrappedKey });

export function deviceEnvelopePath(deviceId: string): string {
  return `${deviceEnvelopeRoute}/${encodeURIComponent(deviceId)}`;
}
