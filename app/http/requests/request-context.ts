import { randomUUID } from 'node:crypto';
import { context, trace } from '@opentelemetry/api';
import type { Context, Next } from 'koa';
import type { ErrorCode } from '../../errors/error-codes.ts';
import type { Log } from '../../telemetry/log.ts';
import type { ProxyTrust } from './client-address.ts';
import type { RequestInfo } from './request.ts';
import { endRequestSpan, startRequestSpan } from './request-span.ts';
import { pathOf } from './well-formed.ts';

/** Observes all requests. Each begins, and ends once. */
export interface RequestObserver {
  began(method: string): void;
  ended(request: EndedRequest): void;
}

/** A request whose response the connection has taken, or whose connection has closed. */
interface EndedRequest {
  readonly method: string;
  /** The template of the path; undefined if no route matched. */
  readonly route: string | undefined;
  /** The status of the response; undefined if there was none. */
  readonly status: number | undefined;
  /** The code of the error response; undefined for a success. */
  readonly errorCode: ErrorCode | undefined;
  readonly seconds: number;
}

const acceptedId = /^[\w.-]{1,128}$/;

/**
 * Assigns the request its id, sends the id in X-Request-Id, and logs one line when the response
 * ends. This middleware must be mounted first.
 */
export function requestContext(trust: ProxyTrust, log: Log, observer: RequestObserver) {
  // A line has only the members below, none of which is secret, so that nothing need be redacted.
  const lines = log.child({}, { redact: [] });
  return async function nameRequest(ctx: Context, next: Next): Promise<void> {
    const startedAt = performance.now();
    const { method } = ctx;
    observer.began(method);
    const serverId = randomUUID();
    const sent = ctx.get('X-Request-Id');
    const { address, isPassedOn } = trust.clientOf(ctx.req);
    const info: RequestInfo = {
      id: acceptedId.test(sent) ? sent : serverId,
      serverId,
      path: pathOf(ctx) ?? ctx.req.url ?? '',
      clientAddress: address,
      isPassedOn,
      headers: ctx.req.headers,
      stream: ctx.req,
    };
    ctx.state.request = info;
    ctx.set('X-Request-Id', info.id);
    const { socket } = ctx.req;
    const writtenBefore = socket.bytesWritten;
    const isHealth = info.path.startsWith('/health');
    const span = isHealth ? undefined : startRequestSpan(ctx.req, trust, serverId);
    const within = span === undefined ? context.active() : trace.setSpan(context.active(), span);
    const end = () => {
      const status = ctx.res.headersSent ? ctx.res.statusCode : 0;
      const { route, errorCode } = ctx.state as Outcome;
      const durationMs = performance.now() - startedAt;
      const outcome = { route, status: status === 0 ? undefined : status, errorCode };
      observer.ended({ method, ...outcome, seconds: durationMs / 1_000 });
      if (span !== undefined) endRequestSpan(span, ctx.req, outcome);
      const isProbe = route?.startsWith('/health') === true && status < 400;
      lines[isProbe ? 'debug' : 'info'](
        {
          requestId: info.id,
          clientAddress: address,
          method,
          path: info.path,
          route,
          status,
          code: errorCode,
          requestBytes: ctx.request.length,
          responseBytes: socket.bytesWritten - writtenBefore,
          aborted: !ctx.res.writableFinished,
          durationMs: Math.round(durationMs),
        },
        'request',
      );
    };
    ctx.res.once('close', context.bind(within, end));
    await context.with(within, next);
  };
}

/** Results of the later middleware for the log line of a request. */
interface Outcome {
  /** The template of the path, such as `/v1/documents/:id`; undefined if no route matched. */
  readonly route: string | undefined;
  /** The code of the error response; undefined for a success. */
  readonly errorCode: ErrorCode | undefined;
}

/** Records the route that serves a request, for the log. */
export function noteRoute(ctx: Context, route: string): void {
  ctx.state.route = route;
}

/** Records the code of the error with which a request is refused, for the log. */
export function noteError(ctx: Context, code: ErrorCode): void {
  ctx.state.errorCode = code;
}

export function requestInfo(ctx: Context): RequestInfo {
  return ctx.state.request as RequestInfo;
}
