import { z } from 'zod';
import { Hex, Timestamp, Uuid } from '../http/wire.ts';
import { Email } from '../accounts/email.ts';

export const SrpParams = z.strictObject({
  group: z.literal('rfc5054-3072'),
  N: z.string(),
  g: z.literal(2),
  hash: z.literal('SHA3-256'),
  kdf: z.strictObject({
    name: z.literal('argon2id'),
    version: z.literal(19),
    memoryKiB: z.literal(65_536),
    iterations: z.literal(3),
    parallelism: z.literal(1),
    outputBytes: z.literal(32),
    context: z.literal('Service_SRP_Auth_v1'),
  }),
});

export const ChallengeRequest = z.strictObject({
  email: Email,
  /** Checked by the SRP code itself, which has its own error for it. */
  A: z.string(),
  method: z.literal('password').optional(),
});

export const Challenge = z.strictObject({
  sessionId: Uuid,
  salt: z.string(),
  B: z.string(),
  expiresAt: Timestamp,
});

export const ProofRequest = z.strictObject({
  sessionId: Uuid.optional(),
  A: z.string(),
  M1: Hex(64).length(64),
});

export const LoggedIn = z.strictObject({
  accessToken: z.string(),
  tokenType: z.literal('Bearer'),
  expiresIn: z.int(),
  M2: z.string(),
});

export const JsonWebKeySet = z.strictObject({
  keys: z.array(
    z.strictObject({
      kty: z.literal('RSA'),
      use: z.literal('sig'),
      alg: z.literal('RS256'),
      kid: z.string(),
      n: z.string(),
      e: z.string(),
    }),
  ),
});

export const Discovery = z.strictObject({
  issuer: z.string(),
  jwks_uri: z.string(),
  response_types_supported: z.array(z.string()),
  subject_types_supported: z.array(z.string()),
  id_token_signing_alg_values_supported: z.array(z.string()),
});
