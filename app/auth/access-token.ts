import { randomUUID } from 'node:crypto';
import { decodeJwt, errors, jwtVerify, type JWTPayload } from 'jose';
import { z } from 'zod';
import type { SignerClient } from '../../signer/client.ts';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Caller } from '../http/caller.ts';
import type { FindOwnKey } from './own-keys.ts';

export const accessTokenSeconds = 900;
export const clockSkewSeconds = 30;

/** The claims of our access tokens beside the registered ones (RFC 9068). */
const Claims = z.object({
  sub: z.guid(),
  tenant_id: z.string().min(1),
  plan: z.string().min(1),
  sid: z.string().min(1),
  authz: z.object({ roles: z.array(z.string()), scopes: z.array(z.string()) }),
});

/** Whom an access token is for. */
export type TokenSubject = Omit<Caller, 'issuer' | 'sessionId'> & { readonly sessionId: string };

export interface AccessTokens {
  /** RS256, `typ: at+jwt`, signed in the HSM. Throws SignerUnavailable. */
  issue(subject: TokenSubject): Promise<string>;
  /** Throws invalid_token, token_expired, invalid_issuer, invalid_audience or jwks_unavailable. */
  verify(token: string): Promise<Caller>;
}

interface AccessTokensOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly signer: SignerClient;
  readonly findOwnKey: FindOwnKey;
  readonly clock: Clock;
}

export function createAccessTokens(options: AccessTokensOptions): AccessTokens {
  const { issuer, audience, signer, findOwnKey, clock } = options;
  return {
    async issue(subject) {
      const issuedAt = Math.floor(clock().getTime() / 1000);
      const claims = {
        iss: issuer,
        sub: subject.userId,
        aud: audience,
        exp: issuedAt + accessTokenSeconds,
        iat: issuedAt,
        jti: randomUUID(),
        authz: { roles: [...subject.roles], scopes: [...subject.scopes] },
        tenant_id: subject.tenantId,
        plan: subject.plan,
        sid: subject.sessionId,
      };
      return signer.signToken({ typ: 'at+jwt', claims });
    },
    async verify(token) {
      if (unverifiedIssuer(token) !== issuer) throw new AppError('invalid_issuer');
      try {
        const { payload } = await jwtVerify(token, findOwnKey, {
          algorithms: ['RS256'],
          typ: 'at+jwt',
          issuer,
          audience,
          clockTolerance: clockSkewSeconds,
          currentDate: clock(),
          requiredClaims: ['sub', 'exp', 'iat', 'jti'],
        });
        return { ...parseClaims(payload), issuer };
      } catch (error) {
        throw toAppError(error);
      }
    },
  };
}

/** Read before the signature is, only to tell a stranger's token from a broken one of ours. */
function unverifiedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch (cause) {
    throw new AppError('invalid_token', { cause });
  }
}

function parseClaims(payload: JWTPayload): Omit<Caller, 'issuer'> {
  const claims = Claims.safeParse(payload);
  if (!claims.success) throw new AppError('invalid_token');
  const { sub, tenant_id: tenantId, plan, sid, authz } = claims.data;
  return { userId: sub, tenantId, plan, sessionId: sid, ...authz };
}

function toAppError(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new AppError('token_expired', { cause: error });
  if (error instanceof errors.JWTClaimValidationFailed && error.claim === 'aud') {
    return new AppError('invalid_audience', { cause: error });
  }
  return error instanceof errors.JOSEError
    ? new AppError('invalid_token', { cause: error })
    : error;
}
