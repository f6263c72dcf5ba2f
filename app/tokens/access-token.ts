import { randomUUID } from 'node:crypto';
import { jwtVerify, type JWTPayload } from 'jose';
import { z } from 'zod';
import type { SignerClient } from '../../signer/protocol/client.ts';
import type { Clock } from '../async/clock.ts';
import { AppError } from '../errors/app-error.ts';
import type { Caller } from '../http/requests/caller.ts';
import type { KeyRegistry } from '../signing-keys/registry.ts';
import type { FindOwnKey } from './own-keys.ts';
import {
  accessTokenSeconds,
  clockSkewSeconds,
  expiryOf,
  isFromFuture,
  toTokenError,
} from './token-rules.ts';
import { createVerifiedTokens } from './verified-tokens.ts';

/** The claims of the vault's own access tokens beside the registered ones (RFC 9068). */
const Claims = z.object({
  sub: z.guid(),
  tenant_id: z.string().min(1),
  plan: z.string().min(1),
  sid: z.string().min(1),
  authz: z.object({ roles: z.array(z.string()), scopes: z.array(z.string()) }),
});

/** The maximum number of verified tokens in the cache, at about 1 kB each. */
const maxVerified = 10_000;

/** The user and the rights that an access token is issued for. */
export type TokenSubject = Omit<
  Caller,
  'issuer' | 'sessionId' | 'expiresAt' | 'authenticatedAt'
> & {
  readonly sessionId: string;
};

/** A caller with a token of the vault itself, which always names a session. */
type OwnCaller = Caller & { readonly sessionId: string };

interface Verified {
  readonly header: { readonly kid?: string };
  readonly caller: OwnCaller;
}

interface AccessTokensOptions {
  readonly issuer: string;
  readonly audience: string;
  readonly signer: Pick<SignerClient, 'signToken'>;
  readonly registry: Pick<KeyRegistry, 'active'>;
  readonly findOwnKey: FindOwnKey;
  readonly clock: Clock;
}

export type AccessTokens = ReturnType<typeof createAccessTokens>;

/** Creates the service that issues and verifies the vault's own access tokens. */
export function createAccessTokens(options: AccessTokensOptions) {
  const { issuer, audience, signer, registry, findOwnKey, clock } = options;
  const verified = createVerifiedTokens<Verified>(maxVerified);

  async function issue(
    subject: TokenSubject,
    lifetimeSeconds: number = accessTokenSeconds,
  ): Promise<string> {
    const { keyId } = await registry.active('token');
    const issuedAt = Math.floor(clock().getTime() / 1000);
    const claims = {
      iss: issuer,
      sub: subject.userId,
      aud: audience,
      exp: issuedAt + lifetimeSeconds,
      iat: issuedAt,
      jti: randomUUID(),
      authz: { roles: [...subject.roles], scopes: [...subject.scopes] },
      tenant_id: subject.tenantId,
      plan: subject.plan,
      sid: subject.sessionId,
    };
    return signer.signToken({ keyId, typ: 'at+jwt', claims });
  }

  async function recall(token: string): Promise<OwnCaller | undefined> {
    const known = verified.find(token, clock());
    if (known === undefined) return undefined;
    await findOwnKey(known.header);
    return known.caller;
  }

  async function verify(token: string): Promise<OwnCaller> {
    const known = await recall(token);
    if (known !== undefined) return known;
    try {
      const { payload, protectedHeader: header } = await jwtVerify(token, findOwnKey, {
        algorithms: ['RS256'],
        typ: 'at+jwt',
        issuer,
        audience,
        clockTolerance: clockSkewSeconds,
        currentDate: clock(),
        requiredClaims: ['sub', 'exp', 'iat', 'jti'],
      });
      if (isFromFuture(payload, clock())) throw new AppError('invalid_token');
      const caller = { ...parseClaims(payload), issuer, expiresAt: expiryOf(payload) };
      verified.add(token, { header, caller }, validUntil(payload));
      return caller;
    } catch (error) {
      throw toTokenError(error);
    }
  }

  return {
    /** Issues a token that the HSM signs: RS256, `typ: at+jwt`. Throws SignerUnavailable. */
    issue,

    /**
     * Returns the caller whom a token names that `verify` has verified before; undefined for any
     * other token, and for one that has expired. Throws as `verify` does.
     */
    recall,

    /**
     * Returns the caller whom a token names. Throws invalid_token, token_expired, invalid_issuer,
     * invalid_audience or jwks_unavailable.
     */
    verify,
  };
}

/** Returns the time from which `jwtVerify` refuses a token as expired. */
function validUntil({ exp = 0 }: JWTPayload): Date {
  return new Date((exp + clockSkewSeconds) * 1000);
}

function parseClaims(payload: JWTPayload): TokenSubject {
  const claims = Claims.safeParse(payload);
  if (!claims.success) throw new AppError('invalid_token');
  const { sub, tenant_id: tenantId, plan, sid, authz } = claims.data;
  return { userId: sub, tenantId, plan, sessionId: sid, ...authz };
}
