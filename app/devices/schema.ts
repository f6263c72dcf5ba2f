import { z } from 'zod';
import { Algorithm, Envelope, RawKey, StoredEnvelope } from '../envelopes/schema.ts';
import { Base64, Limit, Timestamp, Uuid } from '../http/bodies/wire.ts';

/**
 * The maximum number of active devices of a user: a rekey request contains an envelope for each
 * active device.
 */
export const maxDevices = 100;

const EncryptedInfo = Base64(1024)
  .min(1)
  .meta({ description: 'Name and platform, encrypted by the client: base64 of at most 1 KiB.' });

const deviceFields = { deviceId: Uuid, encryptedInfo: EncryptedInfo.optional() };

/** The master key for a device: wrapped, or unwrapped together with its wrapping key. */
export const DeviceKeyForm = z.union(
  [
    z
      .strictObject({ ...deviceFields, encryptedEnvelope: Envelope })
      .transform(({ encryptedEnvelope, ...device }) => ({
        ...device,
        form: { encryptedEnvelope },
      })),
    z
      .strictObject({ ...deviceFields, kDeviceBase64: RawKey, kMasterUserBase64: RawKey })
      .transform(({ kDeviceBase64, kMasterUserBase64, ...device }) => ({
        ...device,
        form: { wrappingKey: kDeviceBase64, masterKey: kMasterUserBase64 },
      })),
  ],
  'must be {deviceId, encryptedEnvelope} or {deviceId, kDeviceBase64, kMasterUserBase64} ' +
    'of canonical base64, and may have encryptedInfo',
);

export const DeviceEnvelope = z.strictObject({ ...StoredEnvelope.shape, deviceId: Uuid });

export const DeviceEnvelopeView = z.strictObject({
  id: Uuid,
  deviceId: Uuid,
  encryptedEnvelope: z.string(),
  algorithm: Algorithm,
  version: z.int(),
  lastUsedAt: Timestamp,
  createdAt: Timestamp,
});

export const DeviceId = z.strictObject({ deviceId: Uuid });

export const DevicePage = z.strictObject({ limit: Limit, cursor: Uuid.optional() });

export const DeviceView = z.strictObject({
  deviceId: Uuid,
  encryptedInfo: z.string().nullable(),
  /** The version of `encryptedInfo`, from which the entity tag is made. */
  version: z.int(),
  lastUsedAt: Timestamp.nullable(),
  createdAt: Timestamp,
});

export const DeviceList = z.array(DeviceView);

export const DeviceChange = z.strictObject({ encryptedInfo: EncryptedInfo });

export const DeviceRevocation = z
  .strictObject({ reason: z.string().min(1).max(500).optional() })
  .prefault({});
