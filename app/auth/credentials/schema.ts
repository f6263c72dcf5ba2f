import { z } from 'zod';
import { Salt, Verifier } from '../../accounts/schema.ts';
import { maxDevices } from '../../devices/schema.ts';
import { Envelope } from '../../envelopes/schema.ts';
import { Base64, Uuid } from '../../http/bodies/wire.ts';

const maxKeyringBytes = 65_536;

/**
 * A new password, with the present master key or a new master key. A new master key needs
 * `recovery`, `devices` and `keyring` together.
 */
export const CredentialsChange = z.strictObject({
  salt: Salt,
  verifier: Verifier,
  /** The master key wrapped under the new password. */
  masterEnvelope: Envelope,
  recovery: z
    .strictObject({ encryptedEnvelope: Envelope, recoverySalt: Salt, recoveryVerifier: Verifier })
    .optional(),
  devices: z
    .array(z.strictObject({ deviceId: Uuid, encryptedEnvelope: Envelope }))
    .max(maxDevices)
    .refine(haveDistinctIds, 'names a device twice')
    .optional(),
  keyring: Base64(maxKeyringBytes)
    .min(1)
    .optional()
    .meta({ description: 'Earlier master keys under the new one: base64 of at most 64 KiB.' }),
});

function haveDistinctIds(devices: readonly { readonly deviceId: string }[]): boolean {
  return new Set(devices.map(({ deviceId }) => deviceId)).size === devices.length;
}
