import { z } from 'zod';
import { Hex, Timestamp, Uuid } from '../../http/bodies/wire.ts';

const maxPasswordBytes = 1024;

const Password = z
  .string()
  .min(1)
  .refine((text) => Buffer.byteLength(text) <= maxPasswordBytes, 'must be at most 1024 bytes')
  .meta({
    description: 'The password: at most 1024 bytes of UTF-8. Better: send an SRP proof.',
    format: 'password',
  });

const ReauthPassword = z
  .strictObject({ password: Password })
  .meta({ id: 'PasswordReauthentication' });

const ReauthProof = z
  .strictObject({
    sessionId: Uuid.describe('The `sessionId` of a new login challenge.'),
    /** Checked by the SRP code, which throws invalid_public_value. */
    A: z.string().describe('The A of that challenge, in hex.'),
    M1: Hex(64).length(64).describe('The login proof M1: 64 hex digits.'),
  })
  .meta({ id: 'ProofReauthentication' });

/** Evidence of who the caller is: the password or, better, the login proof of a new challenge. */
export const ReauthRequest = z
  .union([ReauthPassword, ReauthProof])
  .meta({ id: 'Reauthentication' });

export const Reauthenticated = z
  .strictObject({
    reauthToken: z.string().describe('Signed JWT for the header X-Reauth-Token.'),
    expiresAt: Timestamp.describe('End of the token, after five minutes.'),
    M2: z
      .string()
      .optional()
      .describe('The server’s proof M2 in hex, in answer to an SRP proof; a client compares it.'),
  })
  .meta({ id: 'ReauthenticationToken' });
