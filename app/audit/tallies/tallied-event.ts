import type { AuditEvent } from '../../audit-trail/event.ts';

/**
 * A frequent event: a failed login, which anyone can cause, a wrong one-time code, a read of audit
 * proofs, or a use of an internal API key. Equal events within a minute are counted and become one
 * audit entry.
 */
export interface TalliedEvent {
  readonly action: 'auth.login_failed' | 'audit.read' | 'mfa.failed' | 'internal_key.used';
  readonly actor: AuditEvent['actor'];
  readonly owner: AuditEvent['owner'];
  readonly resource: { readonly type: string; readonly id: string };
  /** The members of the entry's `data`, except `count` and `minute`. */
  readonly data: Readonly<Record<string, string>>;
}
