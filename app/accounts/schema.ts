import { z } from 'zod';
import { isGroupElement } from '../srp/group.ts';
import { Hex } from '../http/bodies/wire.ts';
import { Email } from './email.ts';

/** A salt in hex, normalised to lowercase. */
export const Salt = Hex(128)
  .refine((hex) => hex.length % 2 === 0 && hex.length >= 32, 'must be 16 to 64 bytes')
  .transform((hex) => hex.toLowerCase())
  .meta({ description: 'Random salt of 16 to 64 bytes, in hex.' });

/** An SRP verifier with 1 < v < N − 1 in hex, normalised to 768 lowercase digits. */
export const Verifier = Hex(768)
  .refine((hex) => isGroupElement(BigInt(`0x${hex}`)), 'must lie between 1 and N - 1')
  .transform((hex) => hex.toLowerCase().padStart(768, '0'))
  .meta({
    description: 'SRP verifier v = g^x mod N with 1 < v < N - 1, in hex; leading zeros may lack.',
  });

export const RegisterRequest = z
  .strictObject({ email: Email, salt: Salt, verifier: Verifier })
  .meta({ id: 'Registration' });

export const Registered = z
  .strictObject({
    status: z.literal('PENDING_VALIDATION').describe('Always this value.'),
    message: z.string().describe('A sentence for people; the same for every address.'),
  })
  .meta({ id: 'RegistrationAnswer' });

export const ValidateEmailRequest = z
  .strictObject({
    token: z.string().describe('The token from the e-mail; valid once, for one hour.'),
  })
  .meta({ id: 'EmailValidation' });

export const Validated = z
  .strictObject({
    status: z.literal('OK').describe('Always this value, for an invalid token too.'),
    message: z.string().describe('A sentence for people; the same for every token.'),
  })
  .meta({ id: 'EmailValidationAnswer' });
