import { randomUUID } from 'node:crypto';
import { errors, jwtVerify } from 'jose';
import { z } from 'zod';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Clock } from '../async/clock.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { KeyRegistry } from '../signing-keys/registry.ts';
import type { FindOwnKey } from './own-keys.ts';
import { isFromFuture, reauthTokenSeconds } from './token-rules.ts';

const Claims = z.object({ purpose: z.literal('reauth') });

interface ReauthTokensOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly signer: SignerClient;
  readonly registry: KeyRegistry;
  readonly findOwnKey: FindOwnKey;
  readonly clock: Clock;
}

interface IssuedReauth {
  readonly reauthToken: string;
  readonly expiresAt: Date;
}

export type ReauthTokens = ReturnType<typeof createReauthTokens>;

/**
 * Creates the service that issues and verifies reauthentication tokens, which show that a user has
 * just proved their identity.
 */
export function createReauthTokens(options: ReauthTokensOptions) {
  const { issuer, audience, signer, registry, findOwnKey, clock } = options;

  async function issue(caller: Pick<Caller, 'userId'>): Promise<IssuedReauth> {
    const { keyId } = await registry.active('token');
    const issuedAt = Math.floor(clock().getTime() / 1000);
    const expiresAt = issuedAt + reauthTokenSeconds;
    const claims = {
      iss: issuer,
      sub: caller.userId,
      aud: audience,
      exp: expiresAt,
      iat: issuedAt,
      jti: randomUUID(),
      purpose: 'reauth',
    };
    const reauthToken = await signer.signToken({ keyId, typ: 'reauth+jwt', claims });
    return { reauthToken, expiresAt: new Date(expiresAt * 1000) };
  }

  async function verify(token: string | undefined, caller: Caller): Promise<void> {
    if (token === undefined) throw new AppError('reauth_required');
    try {
      const { payload } = await jwtVerify(token, findOwnKey, {
        algorithms: ['RS256'],
        typ: 'reauth+jwt',
        issuer,
        audience,
        subject: caller.userId,
        // No clock tolerance: a token is never accepted after five minutes (specification, MFA 1).
        currentDate: clock(),
        requiredClaims: ['exp', 'iat', 'jti'],
      });
      Claims.parse(payload);
      if (isFromFuture(payload, clock())) throw new AppError('reauth_invalid');
    } catch (error) {
      throw toAppError(error);
    }
  }

  return {
    /**
     * Issues a token that the HSM signs: RS256, `typ: reauth+jwt`, valid for five minutes. Throws
     * SignerUnavailable.
     */
    issue,

    /**
     * Verifies a reauthentication token. Accepts any unexpired token of the caller, whichever login
     * session it was issued in. Throws reauth_required, reauth_expired, reauth_invalid or
     * jwks_unavailable.
     */
    verify,
  };
}

function toAppError(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new AppError('reauth_expired', { cause: error });
  const isUnknownKey = error instanceof AppError && error.code === 'invalid_token';
  if (isUnknownKey || error instanceof errors.JOSEError || error instanceof z.ZodError) {
    return new AppError('reauth_invalid', { cause: error });
  }
  return error;
}
