import type { Caller } from '../http/requests/caller.ts';

/**
 * The caller of a request without a token on the routes of keys, if the configuration allows
 * requests without a token in development.
 */
export const developer = {
  userId: '00000000-0000-8000-8000-000000000001',
  tenantId: 'development',
  plan: 'standard',
  roles: ['user'],
  scopes: ['keys:manage'],
  sessionId: undefined,
  issuer: 'urn:probatio:development',
  // The latest time that a Date can represent, since no token exists that could expire.
  expiresAt: new Date(8.64e15),
} satisfies Caller;

/** Returns the developer as the caller of a request; each request counts as a fresh login. */
export function developerAt(now: Date): Caller {
  return { ...developer, authenticatedAt: now };
}
