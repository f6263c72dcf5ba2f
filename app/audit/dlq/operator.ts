import { reachOf, type Reach } from '../../accounts/reach.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller, InternalCaller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { AuditEvent } from '../../audit-trail/event.ts';

/** The operator who retries or abandons dead letters, as audit entries record the operator. */
export interface Operator {
  readonly actor: AuditEvent['actor'];
  readonly requestId: string;
  /** A note by the operator on who acted, in addition to `actor`. */
  readonly by: string | null;
  /** The owners of the letters that the operator may see and change. */
  readonly reach: Reach;
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
  return { actor, requestId, by, reach: lettersInReach(caller) };
}

/**
 * Returns the owners whose letters the caller may see: every owner for internal API keys. Throws
 * access_denied for a user who is no operator.
 */
export function lettersInReach(caller: Caller | InternalCaller): Reach {
  if ('internalKey' in caller) return 'all tenants';
  const reach = reachOf(caller, 'operation');
  if (reach === undefined) throw new AppError('access_denied');
  return reach;
}
