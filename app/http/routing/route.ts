import type { z } from 'zod';
import type { HeavyWork } from '../../async/heavy-work.ts';
import { AppError } from '../../errors/app-error.ts';
import type { ErrorCode } from '../../errors/error-codes.ts';
import type { AuditAction } from '../../audit-trail/event.ts';
import type { AddressLimit } from '../../limits/rate-limits.ts';
import { parseInput } from '../bodies/validation.ts';
import type { Access, Caller, InternalCaller } from '../requests/caller.ts';
import { untilHangUp } from '../requests/hang-up.ts';
import type { Idempotency, Reply, RequestInfo, ServiceRequest } from '../requests/request.ts';
import type { JsonText } from '../responses/json-text.ts';
import { makeAnswer } from '../responses/long-answer.ts';
import type { Contribution } from './contribution.ts';
import { answerOnce, type IdempotencyKeys } from './idempotency.ts';
import type { Tag } from './tags.ts';

type Schema = z.ZodType;
type Output<S> = S extends Schema ? z.output<S> : undefined;
type Answer<R> = R extends Schema ? z.input<R> | JsonText : void;

/** The caller that the guards admit to a route with this access. */
type Admitted<A extends Access> = A extends 'public'
  ? undefined
  : A extends 'internal'
    ? InternalCaller
    : A extends { orInternal: true }
      ? Caller | InternalCaller
      : Caller;

/** The input of a handler, typed by the route's own schemas. */
export interface Input<A extends Access = Access, P = undefined, Q = undefined, B = undefined> {
  /** The request as services take it. */
  readonly request: ServiceRequest<Admitted<A>>;
  readonly params: Output<P>;
  readonly query: Output<Q>;
  readonly body: Output<B>;
  /** The HTTP request: its headers, and its body where the handler streams it. */
  readonly http: RequestInfo;
  readonly reply: Reply;
}

/** The audit entries that a route appends, for docs/audit-actions.md. */
interface LeavesEntries {
  readonly actions: readonly AuditAction[];
  /** When the entries are appended, or why no entries are appended. */
  readonly note?: string;
}

interface RouteOptions<S, A extends Access, P, Q, B, R extends Schema | undefined> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly path: string;
  /** Other paths of the same route. */
  readonly aliases?: readonly string[];
  readonly tag: Tag;
  /** Names the operation in generated clients, such as `certifyDocument`; unique. */
  readonly operation: string;
  readonly summary: string;
  readonly access: A;
  /**
   * A limit by client address. A request from an address that has used it up is refused before its
   * body is read; the service counts the uses.
   */
  readonly addressLimit?: AddressLimit;
  readonly params?: P;
  readonly query?: Q;
  /**
   * Answers whatever else its client sends: requests wait for no slot. For health checks, whose
   * work is shared by all requests.
   */
  readonly isProbe?: true;
  /** Ignores query parameters, which probes and caches add. By default unknown ones are refused. */
  readonly ignoresQuery?: true;
  /** The schema of the JSON body. If absent, no body is read. */
  readonly body?: B;
  /**
   * The most bytes of the body, which a route that reads a body must state. A request whose
   * Content-Length is larger is refused before its body is read.
   */
  readonly maxBodyBytes?: number;
  /** Allows requests without a body, for which the schema gets undefined. */
  readonly isBodyOptional?: true;
  /**
   * Refuses bodies in which an object has two members of the same name. By default the last of them
   * counts.
   */
  readonly uniqueNames?: true;
  /** The handler reads the raw body itself. Documented as application/octet-stream. */
  readonly streamsBody?: boolean;
  /** Documents the fields of a multipart/form-data body that the handler reads itself. */
  readonly streamsForm?: Schema;
  /** Checks a JSON body before its schema does. Throws AppError. */
  readonly guardBody?: (body: unknown) => void;
  /**
   * Accepts an Idempotency-Key from callers with an access token: the service keeps the response in
   * the transaction of its action (`act`).
   */
  readonly idempotent?: true;
  /** The service may take minutes. `request.hangUp` aborts when the client disconnects. */
  readonly waitsLong?: true;
  readonly status: number;
  /** The schema of the JSON response, or StreamedAnswer, StreamedJson or EventStream. */
  readonly response: R;
  /**
   * The most bytes of the response that are in memory at once, which a route must state if its
   * response is a list or a stream: all bytes of JSON, or one chunk of a stream.
   */
  readonly maxAnswerBytes?: number;
  /** Documents the JSON value of a response that is a StreamedJson. */
  readonly streams?: Schema;
  /** Documents other statuses with the same body: their descriptions by status. */
  readonly otherStatuses?: Readonly<Record<number, string>>;
  /** Sends Cache-Control: no-store, since the response contains a secret, token or key. */
  readonly noStore?: boolean;
  /** Documents that the response has an ETag. */
  readonly hasETag?: true;
  /** The error codes of this route, in addition to the codes of guards and validation. */
  readonly errors: readonly ErrorCode[];
  /** Documents the members that the bodies of these errors have in addition to the usual ones. */
  readonly errorMembers?: Readonly<Partial<Record<ErrorCode, z.ZodObject>>>;
  /** Documents what the layers around the route add to it. */
  readonly contributions?: readonly Contribution[];
  /** Error codes that this route sends with 403 instead of their usual status. */
  readonly forbids?: readonly ErrorCode[];
  /** The audit entries of the route. Required unless the method is GET, which changes nothing. */
  readonly audit?: LeavesEntries;
  readonly handler: (services: S, input: Input<A, P, Q, B>) => Promise<Answer<R>>;
}

/** Requires that a route with a JSON body states its limit. */
type StatesBodyLimit<B> = B extends Schema ? { readonly maxBodyBytes: number } : unknown;

/** The raw, untyped request as the router hands it over. */
interface RawRequest {
  readonly params: Record<string, string>;
  readonly query: Record<string, unknown>;
  readonly body: unknown;
  readonly caller: Caller | InternalCaller | undefined;
  readonly request: RequestInfo;
  readonly reply: Reply;
  readonly heavyWork: HeavyWork;
  readonly idempotencyKeys: IdempotencyKeys;
}

/** A route of the API: its definition, and the handler behind it. `S` are the services it needs. */
export interface Route<S = never> extends Omit<
  RouteOptions<
    S,
    Access,
    Schema | undefined,
    Schema | undefined,
    Schema | undefined,
    Schema | undefined
  >,
  'handler'
> {
  /** Resolves with the JSON value of the response, or undefined for an empty one. */
  readonly handle: (services: S, raw: RawRequest) => Promise<unknown>;
}

/**
 * Returns the function that defines the routes of a feature. `S` are the services that their
 * handlers need; the definitions do not depend on them.
 */
export function routeFor<S>() {
  /**
   * Defines a route: its path, schemas, access, handler and documentation. Validation, types and
   * the OpenAPI document are derived from this one definition.
   */
  return function route<
    A extends Access,
    R extends Schema | undefined,
    P extends Schema | undefined = undefined,
    Q extends Schema | undefined = undefined,
    B extends Schema | undefined = undefined,
  >(options: RouteOptions<S, A, P, Q, B, R> & StatesBodyLimit<B>): Route<S> {
    const { handler, ...definition } = options;

    async function handle(services: S, raw: RawRequest): Promise<unknown> {
      if (options.access !== 'public' && raw.caller === undefined) {
        throw new AppError('invalid_token');
      }
      options.guardBody?.(raw.body);
      const query = options.ignoresQuery === true ? {} : raw.query;
      const input = {
        params: parseInput(options.params, raw.params, 'path') as Output<P>,
        query: parseInput(options.query, query, 'query') as Output<Q>,
        body: parseInput(options.body, raw.body, 'body') as Output<B>,
        http: raw.request,
        reply: raw.reply,
      };
      const perform = async (idempotency?: Idempotency, hangUp?: AbortSignal) => {
        const request = { ...toServiceRequest<Admitted<A>>(raw), idempotency, hangUp };
        // The handler is not called inside `parse`, which is skipped for routes without a response.
        const answer = await handler(services, { ...input, request });
        if (options.response === undefined) return undefined;
        return makeAnswer(raw.heavyWork, options.response, answer);
      };
      const performAttended = (idempotency?: Idempotency) =>
        options.waitsLong === true
          ? untilHangUp(raw.request.stream, (hangUp) => perform(idempotency, hangUp))
          : perform(idempotency);
      return options.idempotent === true
        ? answerOnce(raw, options, performAttended)
        : performAttended();
    }

    return { ...definition, handle };
  };
}

function toServiceRequest<C>({ caller, request }: RawRequest): ServiceRequest<C> {
  return {
    caller: caller as C,
    requestId: request.serverId,
    clientAddress: request.clientAddress,
  };
}
