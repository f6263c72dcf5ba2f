import { z } from 'zod';

/** A role of an account; new accounts have the role `user`. */
export const Role = z.enum(['user', 'auditor', 'operator', 'probatio_admin']);

export type Role = z.output<typeof Role>;

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
