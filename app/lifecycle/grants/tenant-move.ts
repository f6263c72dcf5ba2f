import type { Tx } from '../../db/database.ts';
import { wasLoggedIn } from '../../sessions/login-sessions.ts';
import { continueTrails } from '../../audit-trail/trails.ts';
import { findLeftBehind } from '../owned-rows.ts';

/** Seconds within which every process refuses a revoked login session. */
const revokedForSeconds = 10;

/**
 * Moves an account, whose row the caller has locked, to another tenant. Row-level security would
 * hide the rows that the account leaves behind, so the account must own no rows in other tenants
 * and must have no open login session. Audit entries stay in the tenant in which they were
 * appended. Sequence numbers continue in both tenants, since an entry in the dead-letter queue may
 * still be retried in its own tenant. Throws an Error that names the obstacle.
 */
export async function moveToTenant(tx: Tx, userId: string, tenantId: string): Promise<void> {
  const left = await findLeftBehind(tx, { userId, tenantId });
  if (left.length > 0) {
    throw new Error(
      `the account would no longer see its rows in other tenants: ${left.join(', ')}`,
    );
  }
  if (await wasLoggedIn(tx, userId, revokedForSeconds)) {
    throw new Error(
      'the account is logged in or was until just now: ' +
        `revoke its --sessions, wait ${revokedForSeconds} s and try again`,
    );
  }
  await continueTrails(tx, userId, tenantId);
  await tx.updateTable('accounts').set({ tenant_id: tenantId }).where('id', '=', userId).execute();
}
