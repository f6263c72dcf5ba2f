import { z } from 'zod';

/** Roles that act in every tenant. Only the command line grants them, never another issuer. */
const PlatformRole = z.enum(['platform_auditor', 'platform_operator', 'platform_admin']);

/**
 * A role of an account; new accounts have the role `user`. A role acts only in the tenant that the
 * access token names, unless it is a platform role.
 */
export const Role = z.enum([
  'user',
  'auditor',
  'operator',
  'probatio_admin',
  ...PlatformRole.options,
]);

export type Role = z.output<typeof Role>;

/** Returns whether a role acts in every tenant. */
export function isPlatformRole(role: string): boolean {
  return PlatformRole.safeParse(role).success;
}

/** A scope that an account can be granted. The scope `recovery` of a recovery login cannot be. */
export const Scope = z.enum([
  'documents:read',
  'documents:write',
  'uploads:write',
  'keys:manage',
  'audit:read',
  'jobs:submit',
  'sync:read',
  'sync:write',
  'mfa:manage',
]);

export type Scope = z.output<typeof Scope>;
