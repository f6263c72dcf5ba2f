import type { Caller, InternalCaller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { AuditEvent } from '../../audit-trail/event.ts';

/** The operator who retries or abandons dead letters, as audit entries record the operator. */
export interface Operator {
  readonly actor: AuditEvent['actor'];
  readonly requestId: string;
  /** A note by the operator on who acted, in addition to `actor`. */
  readonly by: string | null;
}

/** Returns the operator who sent a request: a user or the holder of an internal API key. */
export function operatorOf(
  { caller, requestId }: ServiceRequest<Caller | InternalCaller>,
  by: string | null = null,
): Operator {
  const actor =
    'internalKey' in caller
      ? ({ type: 'system', id: caller.internalKey } as const)
      : ({ type: 'user', id: caller.userId } as const);
  return { actor, requestId, by };
}
