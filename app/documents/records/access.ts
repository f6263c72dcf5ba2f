const withoutTenant = 'user_context_missing';

/** Access to read documents: the caller's own, and those shared with the caller. */
export const mayRead = { scopes: ['documents:read'], withoutTenant } as const;
export const mayWrite = { scopes: ['documents:write'], withoutTenant } as const;
