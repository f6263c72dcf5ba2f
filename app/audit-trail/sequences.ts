import { sql } from 'kysely';
import type { Tx } from '../db/database.ts';
import { takesLock } from '../db/lock-order.ts';

/**
 * Copies the sequence numbers of a user's resources to another tenant, so that the numbering
 * continues there without a gap.
 */
export async function continueSequences(tx: Tx, userId: string, tenantId: string): Promise<void> {
  takesLock(tx, 'audit sequence');
  await sql`
    insert into audit_sequences (user_id, tenant_id, resource_type, resource_id, last_seq)
    select user_id, ${tenantId}, resource_type, resource_id, max(last_seq)
    from (
      select user_id, resource_type, resource_id, last_seq
      from audit_sequences where user_id = ${userId} for update
    ) as of_user
    group by user_id, resource_type, resource_id
    on conflict (user_id, tenant_id, resource_type, resource_id)
      do update set last_seq = excluded.last_seq`.execute(tx);
}
