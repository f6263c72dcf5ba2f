import { decodeJwt, decodeProtectedHeader, jwtVerify, type JWTPayload } from 'jose';
import { z } from 'zod';
import { newAccount } from '../../accounts/new-account.ts';
import type { Clock } from '../../async/clock.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Identified } from '../../http/requests/caller.ts';
import { namesAt, textAt } from './claims.ts';
import type { IssuerConfig } from './config.ts';
import type { KeySet } from './key-set.ts';
import { expiryOf } from '../expiry.ts';
import { toTokenError } from '../token-error.ts';
import { clockSkewSeconds } from '../token-lifetime.ts';

/** What a token of another issuer says, by the issuer's own name of the user. */
export type ExternalToken = Omit<Identified, 'userId'> & { readonly subject: string };

/**
 * Throws invalid_token, token_expired, invalid_issuer, invalid_audience or jwks_unavailable. Roles,
 * scopes and tenant are those that the issuer may grant.
 */
type VerifyExternalToken = (token: string) => Promise<ExternalToken>;

interface ExternalTokensOptions {
  readonly config: IssuerConfig;
  readonly keys: KeySet;
  readonly clock: Clock;
}

export function createExternalTokens(options: ExternalTokensOptions): VerifyExternalToken {
  const { config, keys, clock } = options;
  const { issuer, audience } = config;
  return async function verifyExternalToken(token) {
    assertAccessToken(token);
    const { payload } = await jwtVerify(token, keys.find, {
      algorithms: ['RS256'],
      issuer,
      audience,
      clockTolerance: clockSkewSeconds,
      currentDate: clock(),
      requiredClaims: ['sub', 'exp'],
    }).catch((error: unknown) => {
      throw toTokenError(error);
    });
    return toExternalToken(payload, config);
  };
}

/** RFC 9068 names its type; older issuers say JWT or nothing. */
const AccessTokenHeader = z.object({
  typ: z
    .string()
    .regex(/^((application\/)?at\+jwt|jwt)$/i)
    .optional(),
});

/** Keycloak tells its kinds of tokens by `typ`; the others stand in ID tokens alone (OpenID Connect Core 1.0 §2, §3.3.2.11). */
const AccessTokenClaims = z.object({
  typ: z.literal('Bearer').optional(),
  nonce: z.never().optional(),
  at_hash: z.never().optional(),
  c_hash: z.never().optional(),
});

/**
 * Looked at before anything else: the ID token of the same login is signed by the same key, and the
 * answer must not depend on its audience.
 */
function assertAccessToken(token: string): void {
  try {
    AccessTokenHeader.parse(decodeProtectedHeader(token));
    AccessTokenClaims.parse(decodeJwt(token));
  } catch (cause) {
    throw new AppError('invalid_token', { cause });
  }
}

function toExternalToken(payload: JWTPayload, config: IssuerConfig): ExternalToken {
  const { claims, grants, issuer } = config;
  const subject = textAt(payload, claims.subject);
  if (subject === undefined) throw new AppError('invalid_token');
  const tenant = textAt(payload, claims.tenant);
  return {
    issuer,
    subject,
    tenantId: config.tenant ?? grants.tenants.find((granted) => granted === tenant),
    plan: config.plan ?? textAt(payload, claims.plan) ?? newAccount.plan,
    roles: granted(grants.roles, namesAt(payload, claims.roles)),
    scopes: granted(grants.scopes, namesAt(payload, claims.scopes)),
    sessionId: textAt(payload, claims.session),
    expiresAt: expiryOf(payload),
  };
}

function granted(most: readonly string[], claimed: readonly string[]): string[] {
  return most.filter((name) => claimed.includes(name));
}
