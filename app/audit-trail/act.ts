import type { Database, ServiceOptions, Tx } from '../db/database.ts';
import type { Caller, InternalCaller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { Plans } from '../plans/plans.ts';
import { byOwner, type AuditEvent, type RequestEvent } from './event.ts';
import type { AuditTrail } from './audit-trail.ts';

/** The result of an action: the response to its caller, and the events to record. */
export interface Acted<Answer> {
  readonly answer: Answer;
  /** The events to record; empty if nothing changed. */
  readonly events: readonly RequestEvent[];
}

/**
 * The caller of a request that `asService` performs: a user, the holder of an internal API key, or
 * undefined for an unauthenticated client.
 */
type AnyCaller = Caller | InternalCaller | undefined;

type Work<Answer> = (tx: Tx) => Promise<Acted<Answer>>;

interface ActOptions {
  /**
   * Acts even while the audit backlog is full: for actions that must always work, as a logout, and
   * for those that checked the backlog before lengthy work (`backlogChecked`).
   */
  readonly evenWithFullBacklog?: boolean;
}

interface ServiceActOptions<Answer> extends ActOptions, ServiceOptions {
  /** Runs last in the transaction, which rolls back if it throws. */
  readonly beforeCommit?: (tx: Tx, answer: Answer) => Promise<void>;
}

/** States that the caller of `act` called `act.assertWritable` before its lengthy work. */
export const backlogChecked = { evenWithFullBacklog: true } as const;

export type Act = ReturnType<typeof createAct>;

interface ActDependencies {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly plans: Plans;
}

/** Creates `act`, with which services perform the actions of requests. */
export function createAct({ db, audit, plans }: ActDependencies) {
  function finish<Answer>(request: ServiceRequest<AnyCaller>, work: Work<Answer>) {
    return async (tx: Tx): Promise<Answer> => {
      const { answer, events } = await work(tx);
      await request.idempotency?.keep(tx, answer);
      audit.appendAll(
        tx,
        events.map((event) => withCircumstances(event, request)),
      );
      return answer;
    };
  }

  function assertWritable({ caller }: ServiceRequest<AnyCaller>): void {
    audit.assertWritable(isUser(caller) ? caller.userId : undefined);
  }

  /**
   * Performs the action of a request in one transaction, which sees only the caller's own rows: it
   * does the work, keeps the response under the Idempotency-Key, and appends the audit entries
   * last, in the order of their resources. Either all of this is stored or nothing. Throws
   * audit_backlog_full before the work, and quota_exceeded if the caller would keep more than the
   * plan allows.
   */
  async function act<Answer>(
    request: ServiceRequest,
    work: Work<Answer>,
    { evenWithFullBacklog = false }: ActOptions = {},
  ): Promise<Answer> {
    if (!evenWithFullBacklog) assertWritable(request);
    const { limits } = plans(request.caller.plan);
    return db.asUser(request.caller, finish(request, work), { limits });
  }

  /**
   * Performs an action like `act`, but with the service login, which sees the rows of all users,
   * and without limits of a plan. If no user sent the request, its events must name their owner and
   * actor.
   */
  async function asService<Answer>(
    request: ServiceRequest<AnyCaller>,
    work: Work<Answer>,
    { evenWithFullBacklog = false, beforeCommit, ...options }: ServiceActOptions<Answer> = {},
  ): Promise<Answer> {
    if (!evenWithFullBacklog) assertWritable(request);
    const perform = finish(request, work);
    return db.asService(async (tx) => {
      const answer = await perform(tx);
      await beforeCommit?.(tx, answer);
      return answer;
    }, options);
  }

  return Object.assign(act, {
    asService,
    /**
     * Throws audit_backlog_full if the audit backlog is full, for the caller or for everybody. Call
     * it in actions that do long work before their transaction.
     */
    assertWritable,
  });
}

function isUser(caller: AnyCaller): caller is Caller {
  return caller !== undefined && 'userId' in caller;
}

/**
 * Completes an event with the request's id and, unless the event names them, with the caller as
 * owner and actor.
 */
function withCircumstances(
  event: RequestEvent,
  { caller, requestId }: ServiceRequest<AnyCaller>,
): AuditEvent {
  const own = isUser(caller) ? byOwner(caller) : {};
  const complete = { ...own, ...event, requestId };
  if (complete.actor === undefined || complete.owner === undefined) {
    throw new TypeError(
      `the event ${event.action} names no owner and actor, and no user sent the request`,
    );
  }
  return complete as AuditEvent;
}
