import { z } from 'zod';

/** The Postgres roles to which the policies and grants of a vault apply. */
export interface DatabaseRoles {
  /** The role of the login for users, which sees the rows of one user per transaction. */
  readonly app: string;
  /** The role of the login for workers and registration, which sees all rows. */
  readonly service: string;
}

/** The names that entities and migrations use, in place of which a vault may use others. */
export const defaultRoles: DatabaseRoles = { app: 'probatio_app', service: 'probatio_service' };

/** A role name that needs no quotes in SQL. */
export const RoleName = z
  .string()
  .regex(/^[a-z_][a-z0-9_]{0,62}$/, 'must be up to 63 of a-z, 0-9 and _, and begin with no digit');

/** Returns SQL, or another text, in which the default names are replaced by those of `roles`. */
export function nameRoles(text: string, roles: DatabaseRoles): string {
  return text.replace(/\bprobatio_(app|service)\b/g, (_, role: keyof DatabaseRoles) => roles[role]);
}
