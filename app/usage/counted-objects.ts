import { sql, type RawBuilder } from 'kysely';
import type { Owner } from '../db/database.ts';

/**
 * Returns the SQL expression of the number of an owner's synchronised objects, without tombstones,
 * as the triggers of the database counted them. It is exact in the snapshot of its statement.
 */
export function countedObjects({ userId, tenantId }: Owner): RawBuilder<number> {
  return sql<number>`coalesce((
    select sync_objects from usage
    where user_id = ${userId}::uuid and tenant_id = ${tenantId}
  ), 0)`;
}
