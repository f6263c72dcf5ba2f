/** What a verified access token says about who is calling. */
export interface Caller {
  /** Internal user id (UUID). */
  readonly userId: string;
  readonly tenantId: string;
  readonly plan: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  /** The token's `sid`: one login. */
  readonly sessionId: string;
}

/** Who may call a route: everyone, or a token with one of `roles` (if named) and all of `scopes`. */
export type Access =
  | 'public'
  | { readonly roles?: readonly string[]; readonly scopes?: readonly string[] };

export function mayAccess(caller: Caller, access: Exclude<Access, 'public'>): boolean {
  const hasRole = access.roles === undefined || access.roles.some((r) => caller.roles.includes(r));
  const hasScopes = (access.scopes ?? []).every((scope) => caller.scopes.includes(scope));
  return hasRole && hasScopes;
}
