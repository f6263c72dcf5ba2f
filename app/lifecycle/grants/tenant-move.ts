import { sql } from 'kysely';
import type { Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { findLeftBehind } from '../owned-rows.ts';

/** Seconds within which every process learns of a revoked login session. */
const revokedForSeconds = 10;

/**
 * Moves an account, which the caller has locked, to another tenant. Row-level security would hide
 * what it left behind, so the account must own nothing in other tenants and be logged in nowhere.
 * Its audit entries stay in their tenant. Sequence numbers continue in both tenants, since an entry
 * in the dead-letter queue may still be retried in its own. Throws an error that names the obstacle.
 */
export async function moveToTenant(tx: Tx, userId: string, tenantId: string): Promise<void> {
  const left = await findLeftBehind(tx, { userId, tenantId });
  if (left.length > 0) {
    throw new Error(
      `the account would no longer see its rows in other tenants: ${left.join(', ')}`,
    );
  }
  if (await mayBeLoggedIn(tx, userId)) {
    throw new Error(
      'the account is logged in or was until just now: ' +
        `revoke its --sessions, wait ${revokedForSeconds} s and try again`,
    );
  }
  takesLock(tx, 'audit sequence');
  await sql`
    insert into audit_sequences (user_id, tenant_id, resource_type, resource_id, last_seq)
    select user_id, ${tenantId}, resource_type, resource_id, max(last_seq)
    from (select * from audit_sequences where user_id = ${userId} for update) as of_user
    group by user_id, resource_type, resource_id
    on conflict (user_id, tenant_id, resource_type, resource_id)
      do update set last_seq = excluded.last_seq`.execute(tx);
  await tx.updateTable('accounts').set({ tenant_id: tenantId }).where('id', '=', userId).execute();
}

async function mayBeLoggedIn(tx: Tx, userId: string): Promise<boolean> {
  const session = await tx
    .selectFrom('login_sessions')
    .select('id')
    .where('user_id', '=', userId)
    .where((eb) =>
      eb.or([
        eb.and([eb('revoked_at', 'is', null), eb('expires_at', '>', sql<Date>`now()`)]),
        eb('revoked_at', '>', sql<Date>`now() - make_interval(secs => ${revokedForSeconds})`),
      ]),
    )
    .executeTakeFirst();
  return session !== undefined;
}
