import { z } from 'zod';
import { Algorithm, Envelope, RawKey, StoredEnvelope } from '../envelopes/schema.ts';
import { Base64, Base64Text, Limit, Timestamp, Uuid, UuidCursor } from '../http/bodies/wire.ts';

/**
 * The maximum number of active devices of a user: a rekey request contains an envelope for each
 * active device.
 */
export const maxDevices = 100;

const EncryptedInfo = Base64(1024)
  .min(1)
  .meta({ description: 'Name and platform, encrypted by the client: base64 of at most 1 KiB.' });

const DeviceUuid = Uuid.describe('Id of the device, which its client chose.');
const Version = z.int().min(1).describe('Counts the changes; the ETag is made from it.');
const deviceFields = { deviceId: DeviceUuid, encryptedInfo: EncryptedInfo.optional() };

/** The master key for a device: wrapped, or unwrapped together with its wrapping key. */
export const DeviceKeyForm = z
  .union(
    [
      z
        .strictObject({
          ...deviceFields,
          encryptedEnvelope: Envelope.describe('The master key, wrapped for the device: 40 bytes.'),
        })
        .meta({ id: 'WrappedDeviceKey' })
        .transform(({ encryptedEnvelope, ...device }) => ({
          ...device,
          form: { encryptedEnvelope },
        })),
      z
        .strictObject({ ...deviceFields, kDeviceBase64: RawKey, kMasterUserBase64: RawKey })
        .meta({ id: 'RawDeviceKey' })
        .transform(({ kDeviceBase64, kMasterUserBase64, ...device }) => ({
          ...device,
          form: { wrappingKey: kDeviceBase64, masterKey: kMasterUserBase64 },
        })),
    ],
    'must be {deviceId, encryptedEnvelope} or {deviceId, kDeviceBase64, kMasterUserBase64} ' +
      'of canonical base64, and may have encryptedInfo',
  )
  .meta({ id: 'DeviceKey' });

export const DeviceEnvelope = z
  .strictObject({ ...StoredEnvelope.shape, deviceId: DeviceUuid })
  .meta({ id: 'DeviceEnvelope' });

export const DeviceEnvelopeView = z
  .strictObject({
    id: Uuid.describe('Id of the envelope.'),
    deviceId: DeviceUuid,
    encryptedEnvelope: Base64Text.describe('The master key, wrapped for the device: base64.'),
    algorithm: Algorithm,
    version: Version,
    lastUsedAt: Timestamp.describe('When the device was last used.'),
    createdAt: Timestamp.describe('When the envelope was stored.'),
  })
  .meta({ id: 'StoredDeviceEnvelope' });

export const DeviceId = z.strictObject({ deviceId: DeviceUuid });

export const DevicePage = z.strictObject({ limit: Limit, cursor: UuidCursor });

export const DeviceView = z
  .strictObject({
    deviceId: DeviceUuid,
    encryptedInfo: Base64Text.nullable().describe(
      'Name and platform, encrypted by the client: base64; null if none was sent.',
    ),
    version: Version.describe('Version of `encryptedInfo`; the ETag is made from it.'),
    lastUsedAt: Timestamp.nullable().describe('When the device was last used; null for never.'),
    createdAt: Timestamp.describe('When the device was registered.'),
  })
  .meta({ id: 'Device' });

export const DeviceList = z.array(DeviceView);

export const DeviceChange = z
  .strictObject({ encryptedInfo: EncryptedInfo })
  .meta({ id: 'DeviceChange' });

export const DeviceRevocation = z
  .strictObject({
    reason: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe('A note of at most 500 characters, which becomes part of the audit entry.'),
  })
  .meta({ id: 'DeviceRevocation' })
  .prefault({});
