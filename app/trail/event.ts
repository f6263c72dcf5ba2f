import { NIL } from 'uuid';
import type { Owner } from '../db/database.ts';

/** Everything that leaves an entry. */
export type AuditAction =
  | 'account.registered'
  | 'account.activated'
  | 'account.closed'
  | 'account.swept'
  | 'account.granted'
  | 'account.revoked'
  | 'account.purged'
  | 'auth.login'
  | 'auth.login_failed'
  | 'auth.reauthenticated'
  | 'auth.refreshed'
  | 'auth.session_revoked'
  | 'auth.refresh_reused'
  | 'credentials.changed'
  | 'device.registered'
  | 'device.changed'
  | 'device.revoked'
  | 'envelope.created'
  | 'envelope.replaced'
  | 'envelope.removed'
  | 'upload.created'
  | 'upload.completed'
  | 'upload.aborted'
  | 'upload.expired'
  | 'document.created'
  | 'document.metadata_changed'
  | 'document.version_added'
  | 'document.sealed'
  | 'document.expired'
  | 'document.deleted'
  | 'document.shared'
  | 'document.unshared'
  | 'sharing_key.changed'
  | 'sync.created'
  | 'sync.changed'
  | 'sync.deleted'
  | 'sync.conflicted'
  | 'key.created'
  | 'key.activated'
  | 'key.retired'
  | 'audit.retried'
  | 'audit.abandoned'
  | 'audit.read'
  | 'maintenance.ran'
  | 'vault.marked'
  | 'vault.restored';

/** What is said about an action; the trail adds id, time, sequence number and salt. */
export interface AuditEvent {
  readonly action: AuditAction;
  readonly actor: { readonly type: 'user' | 'system' | 'anonymous'; readonly id: string | null };
  readonly owner: Owner;
  /** `success` unless said. */
  readonly outcome?: 'failure';
  readonly resource: { readonly type: string; readonly id: string };
  /** The server's own request id; null for what no request caused. */
  readonly requestId: string | null;
  /** No secret and no plaintext personal data: e-mails only as keyed hashes. */
  readonly data: Readonly<Record<string, string | number | boolean | null>>;
}

/** Owner of what belongs to no user. */
export const nobody: Owner = {
  userId: NIL,
  tenantId: 'system',
};

/** What all events of users acting on what is their own have in common. */
export function byOwner(
  { userId, tenantId }: Owner,
  requestId: string,
): Pick<AuditEvent, 'actor' | 'owner' | 'requestId'> {
  return { actor: { type: 'user', id: userId }, owner: { userId, tenantId }, requestId };
}
