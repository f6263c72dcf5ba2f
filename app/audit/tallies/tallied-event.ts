import type { AuditEvent } from '../../audit-trail/event.ts';

/**
 * An event that strangers can cause at will, or a read. Equal ones within a minute are counted and
 * become one entry.
 */
export interface TalliedEvent {
  readonly action: 'auth.login_failed' | 'audit.read';
  readonly actor: AuditEvent['actor'];
  readonly owner: AuditEvent['owner'];
  readonly resource: { readonly type: string; readonly id: string };
  /** The members of the entry's data but `count` and `minute`. */
  readonly data: Readonly<Record<string, string>>;
}
