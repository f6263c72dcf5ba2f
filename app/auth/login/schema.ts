import { z } from 'zod';
import { Hex, Limit, Timestamp, Uuid } from '../../http/bodies/wire.ts';
import { Email } from '../../accounts/email.ts';
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
  /** Checked by the SRP code itself, which has its own error for it. */
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

/** Either step of a login, told apart by their fields. */
export const LoginStep = z.union(
  [ChallengeRequest, ProofRequest.required({ sessionId: true })],
  'must be {email, A} or {sessionId, A, M1}',
);

export const TokenPair = z.strictObject({
  accessToken: z.string(),
  tokenType: z.literal('Bearer'),
  expiresIn: z.int(),
  refreshToken: z.string(),
});

/** A login by the recovery words is not refreshed. */
export const LoggedIn = TokenPair.extend({ M2: z.string() }).partial({ refreshToken: true });

export const LoginStepAnswer = z.union([Challenge, LoggedIn]);

/** Whatever is wrong with a token of a sensible length, the refusal is the same. */
export const RefreshRequest = z.strictObject({ refreshToken: z.string().max(256) });

export const SessionId = z.strictObject({ id: Uuid });

export const SessionPage = z.strictObject({ limit: Limit, cursor: Uuid.optional() });

export const SessionView = z.strictObject({
  id: Uuid,
  /** Whether the access token of the request is of this session. */
  current: z.boolean(),
  deviceId: Uuid.nullable(),
  createdAt: Timestamp,
  lastUsedAt: Timestamp,
  expiresAt: Timestamp,
});

export const SessionList = z.array(SessionView);

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
