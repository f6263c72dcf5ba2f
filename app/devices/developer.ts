import type { Caller } from '../http/requests/caller.ts';

/**
 * The user that requests without a token act as on the routes of keys, where the setting allows it
 * in development.
 */
export const developer: Caller = {
  userId: '00000000-0000-8000-8000-000000000001',
  tenantId: 'development',
  plan: 'standard',
  roles: ['user'],
  scopes: ['keys:manage'],
  sessionId: undefined,
  issuer: 'urn:probatio:development',
  // There is no token that could expire: the latest time that a Date can be.
  expiresAt: new Date(8.64e15),
};
