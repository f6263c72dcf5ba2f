import { removeRecovery, storeRecovery, type Credential } from '../accounts/credential-rows.ts';
import type { RequestEvent } from '../audit-trail/event.ts';
import type { Owner, Tx } from '../db/database.ts';
import { endRecoverySessions } from '../sessions/login-sessions.ts';

/** Stores a credential for recovery logins, and ends the sessions of earlier recovery logins. */
export async function changeRecovery(
  tx: Tx,
  owner: Owner,
  credential: Credential,
  now: Date,
): Promise<RequestEvent> {
  await storeRecovery(tx, owner, credential, now);
  return {
    action: 'credentials.changed',
    resource: { type: 'account', id: owner.userId },
    data: {
      method: 'recovery',
      sessions: await endRecoverySessions(tx, owner.userId),
    },
  };
}

/** Removes the credential for recovery logins, and ends the sessions of earlier recovery logins. */
export async function endRecovery(tx: Tx, owner: Owner): Promise<RequestEvent> {
  await removeRecovery(tx, owner);
  return {
    action: 'credentials.removed',
    resource: { type: 'account', id: owner.userId },
    data: { method: 'recovery', sessions: await endRecoverySessions(tx, owner.userId) },
  };
}
