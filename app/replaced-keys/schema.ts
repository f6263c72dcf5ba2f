import { z } from 'zod';
import { Limit, Timestamp, Uuid } from '../http/bodies/wire.ts';

const Kind = z.enum(['MASTER', 'RECOVERY', 'SHARING']);

export const ReplacedPage = z.strictObject({ limit: Limit, cursor: Uuid.optional() });

/** A replaced key without its content, which is shown only once it is in force again. */
export const ReplacedKey = z.strictObject({
  id: Uuid,
  kind: Kind,
  version: z.int().meta({ description: 'The version that the key had.' }),
  fingerprint: z
    .string()
    .nullable()
    .meta({ description: 'The fingerprint of a sharing key; null for an envelope.' }),
  replacedAt: Timestamp,
  expiresAt: Timestamp.meta({ description: 'When the key can no longer be restored.' }),
});

export const ReplacedList = z.array(ReplacedKey);

export const ReplacedId = z.strictObject({ id: Uuid });

export const RestoredKey = z.strictObject({
  kind: Kind,
  version: z.int().meta({ description: 'The version under which the key is in force again.' }),
});
