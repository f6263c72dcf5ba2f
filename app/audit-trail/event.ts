import { NIL } from 'uuid';
import type { z } from 'zod';
import type { Owner } from '../db/database.ts';
import { accountEvents } from './kinds/accounts.ts';
import { documentEvents } from './kinds/documents.ts';
import { jobEvents } from './kinds/jobs.ts';
import { keyEvents } from './kinds/keys.ts';
import { operationEvents } from './kinds/operation.ts';

/**
 * Every kind of audit entry by its action. The types of events and docs/audit-actions.md are
 * derived from this table; a test compares the table with the entries that the API appends.
 */
export const eventKinds = {
  ...accountEvents,
  ...keyEvents,
  ...documentEvents,
  ...jobEvents,
  ...operationEvents,
} as const;

type Kinds = typeof eventKinds;

export type AuditAction = keyof Kinds;

/** The members of an entry's `data`. */
export type EventData<Action extends AuditAction> = Readonly<z.input<Kinds[Action]['data']>>;

interface Circumstances {
  readonly actor: { readonly type: 'user' | 'system' | 'anonymous'; readonly id: string | null };
  readonly owner: Owner;
  /** The server's own id of the request; null for an event that no request caused. */
  readonly requestId: string | null;
}

interface Happening<Action extends AuditAction> {
  readonly action: Action;
  readonly resource: { readonly type: Kinds[Action]['resource']; readonly id: string };
  readonly data: EventData<Action>;
  /** The outcome of the event; `success` if absent. */
  readonly outcome?: 'failure';
  /** The id that the entry will have; by default a new UUIDv7. */
  readonly entryId?: string;
}

/** A complete event; the audit trail adds the time, the sequence number and the salt. */
export type AuditEvent<Action extends AuditAction = AuditAction> = Action extends AuditAction
  ? Happening<Action> & Circumstances
  : never;

/**
 * An event that a request causes: `act` takes the request id from the request, and owner and actor
 * from the caller of the request unless the event names them.
 */
export type RequestEvent<Action extends AuditAction = AuditAction> = Action extends AuditAction
  ? Happening<Action> & Partial<Omit<Circumstances, 'requestId'>>
  : never;

/** The owner of resources that belong to no user. */
export const nobody: Owner = {
  userId: NIL,
  tenantId: 'system',
};

/** Returns the owner and actor of an event that a user causes on a resource of their own. */
export function byOwner({ userId, tenantId }: Owner): Pick<Circumstances, 'actor' | 'owner'> {
  return { actor: { type: 'user', id: userId }, owner: { userId, tenantId } };
}
