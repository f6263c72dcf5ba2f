import { z } from 'zod';
import { Hex, Timestamp, Uuid } from '../../http/bodies/wire.ts';
import { Email } from '../../accounts/email.ts';
import { TokenPair } from '../../sessions/schema.ts';
import { srpParams } from './srp-params.ts';

const { kdf } = srpParams;

const KeyDerivation = z
  .strictObject({
    name: z.literal(kdf.name).describe('Key derivation function.'),
    version: z.literal(kdf.version).describe('Version of Argon2.'),
    memoryKiB: z.literal(kdf.memoryKiB).describe('Memory in KiB.'),
    iterations: z.literal(kdf.iterations).describe('Passes over the memory.'),
    parallelism: z.literal(kdf.parallelism).describe('Lanes.'),
    outputBytes: z.literal(kdf.outputBytes).describe('Length of the derived key in bytes.'),
    context: z.literal(kdf.context).describe('Label that enters the Argon2 salt.'),
  })
  .meta({ id: 'KeyDerivation' });

export const SrpParams = z
  .strictObject({
    group: z.literal(srpParams.group).describe('Name of the group of RFC 5054.'),
    N: z.string().describe('Prime of the group, 768 hex digits.'),
    g: z.literal(srpParams.g).describe('Generator of the group.'),
    hash: z.literal(srpParams.hash).describe('Hash of all SRP values.'),
    kdf: KeyDerivation.describe('How a password becomes a key.'),
  })
  .meta({ id: 'SrpParameters' });

/** Checked by the SRP code, which throws invalid_public_value. */
const PublicA = z
  .string()
  .describe('The client’s public value A = g^a mod N with 1 < A < N - 1: 1 to 768 hex digits.');

const LoginProof = Hex(64)
  .length(64)
  .describe('The client’s proof M1 = SHA3-256(PAD(A) | PAD(B) | K): 64 hex digits.');

const SrpSessionId = Uuid.describe('The `sessionId` of the challenge.');

export const ChallengeRequest = z
  .strictObject({
    email: Email,
    A: PublicA,
    method: z
      .enum(['password', 'recovery'])
      .optional()
      .describe('Which verifier to log in by: of the password (default) or the recovery words.'),
  })
  .meta({ id: 'LoginChallengeRequest' });

export const Challenge = z
  .strictObject({
    sessionId: SrpSessionId.describe('Id of this attempt, for the proof.'),
    salt: z.string().describe('Salt of the verifier, in hex.'),
    B: z.string().describe('The server’s public value B, 768 hex digits.'),
    expiresAt: Timestamp.describe('End of this attempt, after 120 seconds.'),
  })
  .meta({ id: 'LoginChallenge' });

const proofFields = {
  A: PublicA.describe('The same A as in the challenge.'),
  M1: LoginProof,
  deviceId: Uuid.optional().describe('The active device to which the login session is bound.'),
};

export const ProofRequest = z
  .strictObject({
    sessionId: SrpSessionId.optional().describe(
      'The `sessionId` of the challenge. Without it, the challenge is found by A.',
    ),
    ...proofFields,
  })
  .meta({ id: 'LoginProof' });

const ProofStep = z
  .strictObject({ sessionId: SrpSessionId, ...proofFields })
  .meta({ id: 'LoginProofStep' });

/** Either step of a login. The two steps are distinguished by their fields. */
export const LoginStep = z
  .union([ChallengeRequest, ProofStep], 'must be {email, A} or {sessionId, A, M1}')
  .meta({ id: 'LoginStep' });

/** The tokens of a login; a recovery login gets no refresh token. */
export const LoggedIn = z
  .strictObject({
    ...TokenPair.shape,
    refreshToken: TokenPair.shape.refreshToken
      .optional()
      .describe('Absent after a recovery login, which cannot be refreshed.'),
    M2: z.string().describe('The server’s proof M2 in hex. A client MUST compare it with its own.'),
  })
  .meta({ id: 'LoginTokens' });

export const LoginStepAnswer = z.union([Challenge, LoggedIn]).meta({ id: 'LoginStepAnswer' });
