import type { Database, Tx } from '../db/database.ts';
import type { Caller, InternalCaller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { byOwner, type AuditEvent, type RequestEvent } from './event.ts';
import type { AuditTrail } from './audit-trail.ts';

/** The result of an action: the response to its caller, and the events to record. */
export interface Acted<Answer> {
  readonly answer: Answer;
  /** Empty when nothing changed. */
  readonly events: readonly RequestEvent[];
}

/** The caller of a request for the service login: a user, an internal API key, or nobody. */
type AnyCaller = Caller | InternalCaller | undefined;

type Work<Answer> = (tx: Tx) => Promise<Acted<Answer>>;

interface ActOptions {
  /** Acts even while the audit backlog is full, for actions that must always work (logout). */
  readonly evenWithFullBacklog?: boolean;
}

export type Act = ReturnType<typeof createAct>;

/** Creates `act`, with which services perform the actions of requests. */
export function createAct({ db, audit }: { readonly db: Database; readonly audit: AuditTrail }) {
  function finish<Answer>(request: ServiceRequest<AnyCaller>, work: Work<Answer>) {
    return async (tx: Tx): Promise<Answer> => {
      const { answer, events } = await work(tx);
      await request.idempotency?.keep(tx, answer);
      await audit.appendAll(
        tx,
        events.map((event) => withCircumstances(event, request)),
      );
      return answer;
    };
  }

  function assertWritable({ evenWithFullBacklog = false }: ActOptions): void {
    if (!evenWithFullBacklog) audit.assertWritable();
  }

  /**
   * Performs the action of a request in one transaction, with the caller's own rows: the work, the
   * kept response of an Idempotency-Key, and the audit entries last, in the order of their
   * resources. Either all of it is stored or nothing. Throws audit_backlog_full before the work.
   */
  async function act<Answer>(
    request: ServiceRequest,
    work: Work<Answer>,
    options: ActOptions = {},
  ): Promise<Answer> {
    assertWritable(options);
    return db.asUser(request.caller, finish(request, work));
  }

  /**
   * Performs an action as `act` does, with the service login, which sees the rows of all users.
   * Events of a request that no user sent state owner and actor.
   */
  async function asService<Answer>(
    request: ServiceRequest<AnyCaller>,
    work: Work<Answer>,
    options: ActOptions = {},
  ): Promise<Answer> {
    assertWritable(options);
    return db.asService(finish(request, work));
  }

  return Object.assign(act, {
    asService,
    /** Throws audit_backlog_full, for actions that do long work before their transaction. */
    assertWritable: () => audit.assertWritable(),
  });
}

/** Completes an event with the request's id, and with its caller as owner and actor. */
function withCircumstances(
  event: RequestEvent,
  { caller, requestId }: ServiceRequest<AnyCaller>,
): AuditEvent {
  const own = caller !== undefined && 'userId' in caller ? byOwner(caller) : {};
  const complete = { ...own, ...event, requestId };
  if (complete.actor === undefined || complete.owner === undefined) {
    throw new TypeError(
      `the event ${event.action} states no owner and actor, and no user caused it`,
    );
  }
  return complete as AuditEvent;
}
