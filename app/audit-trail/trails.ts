import { sql } from 'kysely';
import type { Owner, Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';

/**
 * Begins trails in another tenant for the resources of a user, whose numbers continue there without
 * a gap.
 */
export async function continueTrails(tx: Tx, userId: string, tenantId: string): Promise<void> {
  takesLock(tx, 'audit trail');
  await sql`
    insert into audit_trails (user_id, tenant_id, resource_type, resource_id, last_seq)
    select user_id, ${tenantId}, resource_type, resource_id, max(last_seq)
    from (
      select user_id, resource_type, resource_id, last_seq
      from audit_trails where user_id = ${userId} for update
    ) as of_user
    group by user_id, resource_type, resource_id
    on conflict (user_id, tenant_id, resource_type, resource_id)
      do update set last_seq = excluded.last_seq`.execute(tx);
}

/** Selects the ids of the trails that an owner has of one type of resource. */
export function selectTrailsOf(tx: Tx, { userId, tenantId }: Owner, resourceType: string) {
  return tx
    .selectFrom('audit_trails')
    .select('audit_trails.id')
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where('resource_type', '=', resourceType);
}
