import { z } from 'zod';
import { Limit, Timestamp, Uuid, UuidCursor } from '../http/bodies/wire.ts';

const Kind = z
  .enum(['MASTER', 'RECOVERY', 'SHARING'])
  .describe('What was replaced: the master or recovery envelope, or the sharing key.');

export const ReplacedPage = z.strictObject({ limit: Limit, cursor: UuidCursor });

/** A replaced key without its content, which is shown only once it is in force again. */
export const ReplacedKey = z
  .strictObject({
    id: Uuid.describe('Id by which the key is restored.'),
    kind: Kind,
    version: z.int().min(1).describe('The version that the key had.'),
    fingerprint: z
      .string()
      .nullable()
      .describe('The fingerprint of a sharing key; null for an envelope.'),
    replacedAt: Timestamp.describe('When the key was replaced.'),
    expiresAt: Timestamp.describe('When the key can no longer be restored.'),
  })
  .meta({ id: 'ReplacedKey' });

export const ReplacedList = z.array(ReplacedKey);

export const ReplacedId = z.strictObject({ id: Uuid.describe('Id of a replaced key.') });

export const RestoredKey = z
  .strictObject({
    kind: Kind,
    version: z.int().min(1).describe('The version under which the key is in force again.'),
  })
  .meta({ id: 'RestoredKey' });
