const withoutTenant = 'user_context_missing';

/** Who may read documents: their own, and those shared with them. */
export const mayRead = { scopes: ['documents:read'], withoutTenant } as const;
export const mayWrite = { scopes: ['documents:write'], withoutTenant } as const;
