import { z } from 'zod';
import { Hex, Timestamp, Uuid } from '../../http/bodies/wire.ts';

const maxPasswordBytes = 1024;

const Password = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= maxPasswordBytes, 'must be at most 1024 bytes')
  .meta({ description: 'At most 1024 bytes of UTF-8.' });

/** Evidence of who the caller is: the password or, better, the login proof of a new challenge. */
export const ReauthRequest = z.union([
  z.strictObject({ password: Password }),
  z.strictObject({
    sessionId: Uuid,
    /** Checked by the SRP code, which throws invalid_public_value. */
    A: z.string(),
    M1: Hex(64).length(64),
  }),
]);

export const Reauthenticated = z.strictObject({ reauthToken: z.string(), expiresAt: Timestamp });
