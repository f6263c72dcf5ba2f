import { z } from 'zod';
import { Salt, Verifier } from '../../accounts/schema.ts';
import { maxDevices } from '../../devices/schema.ts';
import { Envelope } from '../../envelopes/schema.ts';
import { SharingKeyChange } from '../../identities/schema.ts';
import { Base64, Uuid } from '../../http/bodies/wire.ts';

const maxKeyringBytes = 65_536;

const RecoveryChange = z
  .strictObject({
    encryptedEnvelope: Envelope.describe('The new master key, wrapped under the recovery words.'),
    recoverySalt: Salt,
    recoveryVerifier: Verifier,
  })
  .meta({ id: 'RecoveryChange' });

const DeviceRewrap = z
  .strictObject({
    deviceId: Uuid.describe('Id of an active device.'),
    encryptedEnvelope: Envelope.describe('The new master key, wrapped for this device.'),
  })
  .meta({ id: 'DeviceRewrap' });

const NewIdentity = SharingKeyChange.required()
  .partial({ endorsement: true })
  .meta({ id: 'NewIdentity' });

/**
 * A new password, with the present master key or a new master key. A new master key needs
 * `recovery`, `devices` and `keyring` together, and may come with an `identity`.
 */
export const CredentialsChange = z
  .strictObject({
    salt: Salt,
    verifier: Verifier,
    masterEnvelope: Envelope.describe('The master key, wrapped under the new password.'),
    recovery: RecoveryChange.optional().describe('Only with a new master key.'),
    devices: z
      .array(DeviceRewrap)
      .max(maxDevices)
      .refine(haveDistinctIds, 'names a device twice')
      .optional()
      .describe('Only with a new master key: every active device, once.'),
    keyring: Base64(maxKeyringBytes)
      .min(1)
      .optional()
      .describe(
        'Only with a new master key: the earlier master keys, encrypted under the new one. ' +
          'Base64 of at most 64 KiB.',
      ),
    identity: NewIdentity.optional().describe(
      'Only with a new master key: a new identity, which replaces the present one for good.',
    ),
  })
  .meta({ id: 'CredentialsChange' });

function haveDistinctIds(devices: readonly { readonly deviceId: string }[]): boolean {
  return new Set(devices.map(({ deviceId }) => deviceId)).size === devices.length;
}
