import type { ErrorCode } from '../../errors/error-codes.ts';

/** What a verified access token says about who is calling. */
export interface Caller {
  /** Internal user id (UUID), whoever issued the token. */
  readonly userId: string;
  readonly tenantId: string;
  readonly plan: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /** The token's `sid`: one login. Other issuers may not name one. */
  readonly sessionId: string | undefined;
  /** The token's `iss`. */
  readonly issuer: string;
  /** From when on the token is no longer good. */
  readonly expiresAt: Date;
}

/** A caller whose token may name no tenant, as those of other issuers may. */
export type Identified = Omit<Caller, 'tenantId'> & { readonly tenantId: string | undefined };

/** Who holds an internal API key with the admin right. */
export interface InternalCaller {
  /** The key's name. */
  readonly internalKey: string;
}

/** A token with one of `roles` (if named) and all of `scopes`. */
export interface TokenAccess {
  readonly roles?: readonly string[];
  readonly scopes?: readonly string[];
  /** Needs a fresh X-Reauth-Token beside. */
  readonly reauth?: true;
  /** An internal API key does as well, where the listener takes one. */
  readonly orInternal?: true;
  /** The token of a recovery login does as well, and needs no X-Reauth-Token. */
  readonly orRecovery?: true;
  /** In development, where the setting allows it, callers without a token are one fixed user. */
  readonly orDeveloper?: true;
  /** The answer to a valid token without a tenant; invalid_token unless named. */
  readonly withoutTenant?: ErrorCode;
}

/** Who may call a route: everyone, holders of an internal API key, or of a token. */
export type Access = 'public' | 'internal' | TokenAccess;

/** All that the token of a recovery login is good for; it has no role. */
export const recoveryScope = 'recovery';

/** Whether the caller comes by a recovery login. */
export function isRecovery({ roles, scopes }: Identified): boolean {
  return roles.length === 0 && scopes.length === 1 && scopes[0] === recoveryScope;
}

export function mayAccess(caller: Identified, access: TokenAccess): boolean {
  if (access.orRecovery === true && isRecovery(caller)) return true;
  const hasRole = access.roles === undefined || access.roles.some((r) => caller.roles.includes(r));
  const hasScopes = (access.scopes ?? []).every((scope) => caller.scopes.includes(scope));
  return hasRole && hasScopes;
}
