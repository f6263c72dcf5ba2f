import { z } from 'zod';
import { isGroupElement } from '../srp/group.ts';
import { Hex } from '../http/bodies/wire.ts';
import { Email } from './email.ts';

/** A salt in hex, normalised to lowercase. */
export const Salt = Hex(128)
  .refine((hex) => hex.length % 2 === 0 && hex.length >= 32, 'must be 16 to 64 bytes')
  .transform((hex) => hex.toLowerCase());

/** An SRP verifier with 1 < v < N − 1 in hex, normalised to 768 lowercase digits. */
export const Verifier = Hex(768)
  .refine((hex) => isGroupElement(BigInt(`0x${hex}`)), 'must lie between 1 and N - 1')
  .transform((hex) => hex.toLowerCase().padStart(768, '0'));

export const RegisterRequest = z.strictObject({ email: Email, salt: Salt, verifier: Verifier });

export const Registered = z.strictObject({
  status: z.literal('PENDING_VALIDATION'),
  message: z.string(),
});

export const ValidateEmailRequest = z.strictObject({ token: z.string() });

export const Validated = z.strictObject({ status: z.literal('OK'), message: z.string() });
