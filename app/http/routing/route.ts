import type { z } from 'zod';
import { AppError } from '../../errors/app-error.ts';
import type { ErrorCode } from '../../errors/error-codes.ts';
import type { Access, Caller, InternalCaller } from '../requests/caller.ts';
import { answerOnce, type Idempotency, type IdempotencyKeys } from './idempotency.ts';
import type { Reply, RequestInfo } from '../requests/request.ts';
import { parseInput } from '../bodies/validation.ts';

type Schema = z.ZodType;
type Output<S> = S extends Schema ? z.output<S> : undefined;
type Answer<R> = R extends Schema ? z.input<R> : void;

/** Whom the guards let through to a route of this access. */
type Admitted<A extends Access> = A extends 'public'
  ? undefined
  : A extends 'internal'
    ? InternalCaller
    : A extends { orInternal: true }
      ? Caller | InternalCaller
      : Caller;

/** What a handler is given: typed by the route's own schemas. */
interface Input<A extends Access, P, Q, B, R> {
  readonly caller: Admitted<A>;
  readonly params: Output<P>;
  readonly query: Output<Q>;
  readonly body: Output<B>;
  readonly request: RequestInfo;
  readonly reply: Reply;
  /** On idempotent routes, when the request has a key. */
  readonly idempotency: Idempotency<Answer<R>> | undefined;
}

interface RouteOptions<A extends Access, P, Q, B, R extends Schema | undefined> {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  readonly path: string;
  /** Other paths that answer alike. */
  readonly aliases?: readonly string[];
  readonly tag: string;
  readonly summary: string;
  readonly access: A;
  readonly params?: P;
  readonly query?: Q;
  /** JSON body. Left out, no body is read. */
  readonly body?: B;
  /** Without a body the schema sees undefined. */
  readonly isBodyOptional?: true;
  /** An object of the body that has a name twice is refused; else its last member counts. */
  readonly uniqueNames?: true;
  /** The handler reads the raw body itself; documented as application/octet-stream. */
  readonly streamsBody?: boolean;
  /** The fields of a multipart/form-data body that the handler reads itself; for the documentation. */
  readonly streamsForm?: Schema;
  /** Refuses a JSON body before its schema is looked at. Throws AppError. */
  readonly guardBody?: (body: unknown) => void;
  /**
   * Takes an Idempotency-Key: the handler keeps its answer in the transaction of what it does. For
   * callers with a token.
   */
  readonly idempotent?: true;
  readonly status: number;
  /** JSON, StreamedAnswer or EventStream. */
  readonly response: R;
  /** The answer carries a secret, token or key: Cache-Control: no-store. */
  readonly noStore?: boolean;
  /** The answer carries an ETag; for the documentation. */
  readonly hasETag?: true;
  /** Codes this route may answer beyond those every route may. */
  readonly errors: readonly ErrorCode[];
  /** Codes of another status that it answers with 403. */
  readonly forbids?: readonly ErrorCode[];
  readonly handler: (input: Input<A, P, Q, B, R>) => Promise<Answer<R>>;
}

/** The raw, untyped request as the router hands it over. */
interface RawRequest {
  readonly params: Record<string, string>;
  readonly query: Record<string, unknown>;
  readonly body: unknown;
  readonly caller: Caller | InternalCaller | undefined;
  readonly request: RequestInfo;
  readonly reply: Reply;
  readonly idempotencyKeys: IdempotencyKeys;
}

/** A route ready to be mounted and documented; its types are spent. */
export interface Route extends Omit<
  RouteOptions<
    Access,
    Schema | undefined,
    Schema | undefined,
    Schema | undefined,
    Schema | undefined
  >,
  'handler'
> {
  /** Answers the JSON value of the response, or undefined for an empty one. */
  handle(raw: RawRequest): Promise<unknown>;
}

/**
 * Ties a path to its schemas, access, handler and documentation: the one definition from which
 * validation, types and OpenAPI come.
 */
export function route<
  A extends Access,
  R extends Schema | undefined,
  P extends Schema | undefined = undefined,
  Q extends Schema | undefined = undefined,
  B extends Schema | undefined = undefined,
>(options: RouteOptions<A, P, Q, B, R>): Route {
  const { handler, ...definition } = options;
  return {
    ...definition,
    async handle(raw) {
      if (options.access !== 'public' && raw.caller === undefined) {
        throw new AppError('invalid_token');
      }
      options.guardBody?.(raw.body);
      const input = {
        caller: raw.caller as Admitted<A>,
        params: parseInput(options.params, raw.params, 'path') as Output<P>,
        query: parseInput(options.query, raw.query, 'query') as Output<Q>,
        body: parseInput(options.body, raw.body, 'body') as Output<B>,
        request: raw.request,
        reply: raw.reply,
      };
      const answer = async (idempotency?: Idempotency<Answer<R>>) => {
        const result = await handler({ ...input, idempotency });
        return options.response?.parse(result);
      };
      return options.idempotent === true ? answerOnce(raw, options, answer) : answer();
    },
  };
}
