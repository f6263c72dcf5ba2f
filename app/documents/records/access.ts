const withoutTenant = 'user_context_missing';

/** Access of routes that read the caller's own documents and documents shared with the caller. */
export const mayRead = { scopes: ['documents:read'], withoutTenant } as const;
export const mayWrite = { scopes: ['documents:write'], withoutTenant } as const;
