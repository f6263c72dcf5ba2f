import type { ErrorCode } from '../../errors/error-codes.ts';

/** The caller of a route, as a verified access token describes it. */
export interface Caller {
  /** Internal user id (UUID), also for tokens of other issuers. */
  readonly userId: string;
  readonly tenantId: string;
  readonly plan: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /** The login session: the token's `sid`. Tokens of other issuers may have none. */
  readonly sessionId: string | undefined;
  /** The token's `iss`. */
  readonly issuer: string;
  /** When the token expires. */
  readonly expiresAt: Date;
  /**
   * When the user last proved to another issuer who they are: the token's `auth_time`. The vault's
   * own tokens have none; their login session says when it began.
   */
  readonly authenticatedAt?: Date | undefined;
}

/** A caller whose token may name no tenant. Only tokens of other issuers may lack the tenant. */
export type Identified = Omit<Caller, 'tenantId'> & { readonly tenantId: string | undefined };

/** A caller with an internal API key that has the admin right. */
export interface InternalCaller {
  /** The key's name. */
  readonly internalKey: string;
}

/** Requires a token with one of `roles`, if given, and all of `scopes`. */
export interface TokenAccess {
  readonly roles?: readonly string[];
  readonly scopes?: readonly string[];
  /** Also requires a fresh X-Reauth-Token. */
  readonly reauth?: true;
  /**
   * States, for the documentation, when the service also requires a fresh proof of identity
   * (app/sessions/fresh-proof.ts), such as `always`.
   */
  readonly freshProof?: string;
  /** Alternatively accepts an internal API key, on listeners that accept one. */
  readonly orInternal?: true;
  /** Alternatively accepts the token of a recovery login, without X-Reauth-Token. */
  readonly orRecovery?: true;
  /**
   * Treats callers without a token as one fixed user. Works only in development, and only with the
   * setting KEYS_ALLOW_ANONYMOUS_IN_DEVELOPMENT.
   */
  readonly orDeveloper?: true;
  /** Error code for a valid token without a tenant; invalid_token by default. */
  readonly withoutTenant?: ErrorCode;
}

/** Access to a route: for everyone, holders of an internal API key, or holders of a token. */
export type Access = 'public' | 'internal' | TokenAccess;

/** The only scope of the token of a recovery login, which has no role. */
export const recoveryScope = 'recovery';

/** Returns whether the caller uses the token of a recovery login. */
export function isRecovery({ roles, scopes }: Identified): boolean {
  return roles.length === 0 && scopes.length === 1 && scopes[0] === recoveryScope;
}

/** Returns whether the roles and scopes of a caller's token grant access. */
export function mayAccess(caller: Identified, access: TokenAccess): boolean {
  if (access.orRecovery === true && isRecovery(caller)) return true;
  const hasRole = access.roles === undefined || access.roles.some((r) => caller.roles.includes(r));
  const hasScopes = (access.scopes ?? []).every((scope) => caller.scopes.includes(scope));
  return hasRole && hasScopes;
}
