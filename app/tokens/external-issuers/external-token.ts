import { decodeJwt, decodeProtectedHeader, jwtVerify, type JWTPayload } from 'jose';
import { z } from 'zod';
import { newAccount } from '../../accounts/new-account.ts';
import type { Clock } from '../../async/clock.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Identified } from '../../http/requests/caller.ts';
import { namesAt, textAt, timeAt } from './claims.ts';
import type { IssuerConfig } from './config.ts';
import type { KeySet } from './key-set.ts';
import { clockSkewSeconds, expiryOf, isFromFuture, toTokenError } from '../token-rules.ts';

/** The content of another issuer's token, which names the user as `subject`. */
export type ExternalToken = Omit<Identified, 'userId'> & { readonly subject: string };

interface ExternalTokensOptions {
  readonly config: IssuerConfig;
  readonly keys: KeySet;
  readonly clock: Clock;
}

/** Creates the function that verifies the access tokens of another issuer. */
export function createExternalTokens({ config, keys, clock }: ExternalTokensOptions) {
  const { issuer, audience } = config;
  /**
   * Returns the content of a token; roles, scopes and tenant are limited to those that the issuer
   * may grant. Throws invalid_token, token_expired, invalid_issuer, invalid_audience or
   * jwks_unavailable.
   */
  return async function verifyExternalToken(token: string): Promise<ExternalToken> {
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
    if (isFromFuture(payload, clock())) throw new AppError('invalid_token');
    return toExternalToken(payload, config);
  };
}

/**
 * The header of an access token: `typ` is `at+jwt` (RFC 9068), or `JWT` or absent in tokens of
 * older issuers.
 */
const AccessTokenHeader = z.object({
  typ: z
    .string()
    .regex(/^((application\/)?at\+jwt|jwt)$/i)
    .optional(),
});

/**
 * The claims of an access token. Keycloak distinguishes its tokens by `typ`; the other claims exist
 * only in ID tokens (OpenID Connect Core 1.0 §2, §3.3.2.11).
 */
const AccessTokenClaims = z.object({
  typ: z.literal('Bearer').optional(),
  nonce: z.never().optional(),
  at_hash: z.never().optional(),
  c_hash: z.never().optional(),
});

/**
 * Throws invalid_token for an ID token. An issuer signs ID tokens with the same key as access
 * tokens. Call this check before any other check, so that the error does not depend on the token's
 * audience.
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
    authenticatedAt: timeAt(payload, claims.authTime),
  };
}

function granted(most: readonly string[], claimed: readonly string[]): string[] {
  return most.filter((name) => claimed.includes(name));
}
