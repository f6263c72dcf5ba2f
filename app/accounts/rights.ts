import { z } from 'zod';

/** What an account may be, beside `user`, which every account is. */
export const Role = z.enum(['user', 'auditor', 'operator', 'probatio_admin']);

export type Role = z.output<typeof Role>;

/** What an access token may be good for. `recovery` is never granted. */
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
