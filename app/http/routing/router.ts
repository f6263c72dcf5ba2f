import type { IncomingMessage } from 'node:http';
import { Router, type RouterContext } from '@koa/router';
import type { Context, Next } from 'koa';
import { AppError } from '../../errors/app-error.ts';
import { EventStream, sendEvents } from '../responses/event-stream.ts';
import type { Caller, InternalCaller } from '../requests/caller.ts';
import { admit, type Guards } from './guards.ts';
import type { IdempotencyKeys } from './idempotency.ts';
import { createJsonBodies } from '../bodies/json-body.ts';
import { requestInfo } from '../requests/request-context.ts';
import type { RequestInfo } from '../requests/request.ts';
import type { Route } from './route.ts';
import { isSafeString } from '../bodies/safe-text.ts';
import { sendStream, StreamedAnswer } from '../responses/streamed-answer.ts';

/**
 * Creates the router of these routes. Each request passes the guards, then its body is read, then
 * the route validates its input and handles it.
 */
export function createRouter<S>(
  routes: readonly Route<S>[],
  services: S,
  { guards, idempotencyKeys }: RouterOptions,
): Router {
  const router = new Router({ strict: true, sensitive: true });
  const readJsonBody = createJsonBodies();
  for (const route of routes) {
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      router[route.method](path, serve(route, services, { guards, idempotencyKeys, readJsonBody }));
    }
  }
  return router;
}

interface RouterOptions {
  readonly guards: Guards;
  readonly idempotencyKeys: IdempotencyKeys;
}

interface Serving extends RouterOptions {
  readonly readJsonBody: ReturnType<typeof createJsonBodies>;
}

function serve<S>(
  route: Route<S>,
  services: S,
  { guards, idempotencyKeys, readJsonBody }: Serving,
) {
  return async function serveRoute(ctx: RouterContext, _next: Next): Promise<void> {
    const caller = await admit(ctx.req.headers, route.access, guards);
    assertSafeUrl(ctx);
    const request = requestInfo(ctx);
    const body = takesBody(route, ctx.req)
      ? await readJsonBody(ctx.req, clientOf(caller, request), route)
      : undefined;
    ctx.status = route.status;
    const result = await route.handle(services, {
      params: ctx.params,
      query: { ...ctx.query },
      body,
      caller,
      request,
      reply: {
        set: (name, value) => ctx.set(name, value),
        status: (code) => {
          ctx.status = code;
        },
      },
      idempotencyKeys,
    });
    if (route.response === EventStream) return sendEvents(ctx, EventStream.parse(result));
    if (route.response === StreamedAnswer) return sendStream(ctx, StreamedAnswer.parse(result));
    if (route.noStore === true) ctx.set('Cache-Control', 'no-store');
    if (result !== undefined) ctx.body = result;
  };
}

/** Returns the client in whose queue a large body waits: a user, or a client address. */
function clientOf(caller: Caller | InternalCaller | undefined, { clientAddress }: RequestInfo) {
  return caller !== undefined && 'userId' in caller ? `user ${caller.userId}` : clientAddress;
}

function takesBody(
  route: Pick<Route, 'body' | 'isBodyOptional'>,
  { headers }: IncomingMessage,
): boolean {
  if (route.body === undefined) return false;
  const isSent =
    headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
  return isSent || route.isBodyOptional !== true;
}

/** Throws invalid_request for percent-encoded NUL or broken UTF-8 in the path or query. */
function assertSafeUrl(ctx: Context): void {
  let decoded: string;
  try {
    decoded = decodeURIComponent(ctx.req.url ?? '');
  } catch (cause) {
    throw new AppError('invalid_request', { cause });
  }
  if (!isSafeString(decoded)) throw new AppError('invalid_request');
}
