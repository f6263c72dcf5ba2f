import { randomUUID } from 'node:crypto';
import { jwtVerify, type JWTPayload } from 'jose';
import { z } from 'zod';
import type { SignerClient } from '../../signer/client.ts';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import type { Caller } from '../http/caller.ts';
import { clockSkewSeconds, toTokenError } from './token-error.ts';
import type { FindOwnKey } from './own-keys.ts';

export const accessTokenSeconds = 900;

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

/** A caller whose token is ours: it always names a session. */
type OwnCaller = Caller & { readonly sessionId: string };

export interface AccessTokens {
  /** RS256, `typ: at+jwt`, signed in the HSM. Throws SignerUnavailable. */
  issue(subject: TokenSubject): Promise<string>;
  /** Throws invalid_token, token_expired, invalid_issuer, invalid_audience or jwks_unavailable. */
  verify(token: string): Promise<OwnCaller>;
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
        throw toTokenError(error);
      }
    },
  };
}

function parseClaims(payload: JWTPayload): TokenSubject {
  const claims = Claims.safeParse(payload);
  if (!claims.success) throw new AppError('invalid_token');
  const { sub, tenant_id: tenantId, plan, sid, authz } = claims.data;
  return { userId: sub, tenantId, plan, sessionId: sid, ...authz };
}
