import type { Caller } from '../http/requests/caller.ts';

/** The one user that callers without a token are, on the routes of keys, in development alone. */
export const developer: Caller = {
  userId: '00000000-0000-8000-8000-000000000001',
  tenantId: 'development',
  plan: 'standard',
  roles: ['user'],
  scopes: ['keys:manage'],
  sessionId: undefined,
  issuer: 'urn:probatio:development',
  // Without a token, as late as a date can be.
  expiresAt: new Date(8.64e15),
};
