import { z } from 'zod';
import { Base64, Timestamp, Uuid } from '../http/wire.ts';

/** AES-256-KW adds 8 bytes to the 32 of the key. The length has an error code of its own. */
export const CreateMasterEnvelope = z.strictObject({ encryptedEnvelope: Base64(1024) });

const Algorithm = z.literal('AES-256-KW');

export const CreatedEnvelope = z.strictObject({
  id: Uuid,
  encryptedEnvelope: z.string(),
  algorithm: Algorithm,
  version: z.int(),
});

export const MasterEnvelope = z.strictObject({
  id: Uuid,
  encryptedEnvelope: z.string(),
  algorithm: Algorithm,
  version: z.int(),
  keyring: z.string().nullable(),
  createdAt: Timestamp,
});
