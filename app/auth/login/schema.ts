import { z } from 'zod';
import { Hex, Timestamp, Uuid } from '../../http/bodies/wire.ts';
import { Email } from '../../accounts/email.ts';
import { TokenPair } from '../../sessions/schema.ts';
import { srpParams } from './srp-params.ts';

const { kdf } = srpParams;

export const SrpParams = z.strictObject({
  group: z.literal(srpParams.group),
  N: z.string(),
  g: z.literal(srpParams.g),
  hash: z.literal(srpParams.hash),
  kdf: z.strictObject({
    name: z.literal(kdf.name),
    version: z.literal(kdf.version),
    memoryKiB: z.literal(kdf.memoryKiB),
    iterations: z.literal(kdf.iterations),
    parallelism: z.literal(kdf.parallelism),
    outputBytes: z.literal(kdf.outputBytes),
    context: z.literal(kdf.context),
  }),
});

export const ChallengeRequest = z.strictObject({
  email: Email,
  /** Checked by the SRP code, which throws invalid_public_value. */
  A: z.string(),
  method: z.enum(['password', 'recovery']).optional(),
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
  deviceId: Uuid.optional(),
});

/** Either step of a login. The two steps are distinguished by their fields. */
export const LoginStep = z.union(
  [ChallengeRequest, ProofRequest.required({ sessionId: true })],
  'must be {email, A} or {sessionId, A, M1}',
);

/** The tokens of a login; a recovery login gets no refresh token. */
export const LoggedIn = TokenPair.extend({ M2: z.string() }).partial({ refreshToken: true });

export const LoginStepAnswer = z.union([Challenge, LoggedIn]);
