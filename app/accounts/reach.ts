import { sql, type RawBuilder } from 'kysely';
import type { Caller } from '../http/requests/caller.ts';
import type { Role } from './rights.ts';

/** The roles of each duty: those that act in the caller's tenant, and those that act in all. */
const duties = {
  /** Reads audit entries and audit proofs of other users. */
  audit: {
    tenant: ['auditor', 'probatio_admin'],
    platform: ['platform_auditor', 'platform_admin'],
  },
  /** Works on the dead-letter queue. */
  operation: {
    tenant: ['operator', 'probatio_admin'],
    platform: ['platform_operator', 'platform_admin'],
  },
  /** Deletes documents of other users. */
  administration: { tenant: ['probatio_admin'], platform: ['platform_admin'] },
} as const satisfies Record<string, Record<'tenant' | 'platform', readonly Role[]>>;

type Duty = keyof typeof duties;

/** The rows of other users that a duty opens: those of one tenant, or those of all tenants. */
export type Reach = { readonly tenantId: string } | 'all tenants';

/** Returns the roles that have a duty, in any reach. */
export function rolesFor(duty: Duty): readonly Role[] {
  return [...duties[duty].tenant, ...duties[duty].platform];
}

/** Returns how far a duty of the caller reaches; undefined if the caller does not have the duty. */
export function reachOf(
  { roles, tenantId }: Pick<Caller, 'roles' | 'tenantId'>,
  duty: Duty,
): Reach | undefined {
  const { tenant, platform } = duties[duty];
  if (platform.some((role) => roles.includes(role))) return 'all tenants';
  return tenant.some((role) => roles.includes(role)) ? { tenantId } : undefined;
}

/** Returns the SQL condition that a row is in reach. Its table must have a column `tenant_id`. */
export function isInReach(reach: Reach, column = 'tenant_id'): RawBuilder<boolean> {
  if (reach === 'all tenants') return sql<boolean>`true`;
  return sql<boolean>`${sql.ref(column)} = ${reach.tenantId}`;
}
