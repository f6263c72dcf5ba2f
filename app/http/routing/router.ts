import type { IncomingMessage } from 'node:http';
import { Router, type RouterContext } from '@koa/router';
import type { Context, Next } from 'koa';
import { AppError } from '../../errors/app-error.ts';
import { EventStream, sendEvents } from '../responses/event-stream.ts';
import type { Caller, InternalCaller } from '../requests/caller.ts';
import { admit, type Guards } from './guards.ts';
import type { IdempotencyKeys } from './idempotency.ts';
import { createJsonBodies } from '../bodies/json-body.ts';
import { networkOf } from '../../limits/network.ts';
import { limitIdleReader } from '../responses/idle-readers.ts';
import { requestInfo } from '../requests/request-context.ts';
import type { RequestInfo } from '../requests/request.ts';
import type { SharedAddressWatch } from '../requests/shared-address.ts';
import type { Route } from './route.ts';
import { leaveAdmission, type RequestSlots } from './request-slots.ts';
import { isSafeString } from '../bodies/safe-text.ts';
import { sendStream, StreamedAnswer } from '../responses/streamed-answer.ts';

/**
 * Creates the router of these routes. Each request passes the guards, then its body is read, then
 * the route validates its input and handles it.
 */
export function createRouter<S>(
  routes: readonly Route<S>[],
  services: S,
  options: RouterOptions,
): Router {
  const router = new Router({ strict: true, sensitive: true });
  const serving = { ...options, bodies: createJsonBodies() };
  for (const route of routes) {
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      router[route.method](path, serve(route, services, serving));
    }
  }
  return router;
}

interface RouterOptions {
  readonly guards: Guards;
  readonly idempotencyKeys: IdempotencyKeys;
  readonly slots: RequestSlots;
  /** Counts a request that may change something. Throws rate_limited. */
  readonly countWrite: (caller: Caller) => Promise<void>;
  readonly sharedAddress: SharedAddressWatch;
}

interface Serving extends RouterOptions {
  readonly bodies: ReturnType<typeof createJsonBodies>;
}

function serve<S>(route: Route<S>, services: S, serving: Serving) {
  const { guards, idempotencyKeys } = serving;
  return async function serveRoute(ctx: RouterContext, _next: Next): Promise<void> {
    const caller = await admit(ctx.req.headers, route.access, guards);
    assertSafeUrl(ctx);
    if (route.method !== 'get' && isUser(caller)) await serving.countWrite(caller);
    leaveAdmission(ctx);
    const body = await enter(route, caller, ctx, serving);
    const request = requestInfo(ctx);
    if (isUser(caller)) serving.sharedAddress.note(caller.userId, request);
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
    limitIdleReader(ctx.res);
  };
}

/**
 * Reads the body of a request and waits for the client's slot, which the request then holds. A
 * small body is read before, so that a client that sends it slowly holds no slot meanwhile.
 */
async function enter<S>(
  route: Route<S>,
  caller: AnyCaller,
  ctx: RouterContext,
  { slots, bodies }: Serving,
): Promise<unknown> {
  const client = clientOf(caller, requestInfo(ctx));
  const wait = () => (isHolder(caller) ? undefined : slots.serve(route, client, ctx));
  if (!takesBody(route, ctx.req)) {
    await wait();
    return undefined;
  }
  if (bodies.isSmall(ctx.req)) {
    const body = await bodies.read(ctx.req, client, route);
    await wait();
    return body;
  }
  await wait();
  return bodies.read(ctx.req, client, route);
}

type AnyCaller = Caller | InternalCaller | undefined;

function isUser(caller: AnyCaller): caller is Caller {
  return caller !== undefined && 'userId' in caller;
}

/** Returns whether the caller has an internal API key, whose requests are not limited. */
function isHolder(caller: AnyCaller): caller is InternalCaller {
  return caller !== undefined && 'internalKey' in caller;
}

/** Returns the client in whose queue a request waits: a user, or a client address. */
function clientOf(caller: AnyCaller, { clientAddress }: RequestInfo): string {
  return isUser(caller) ? `user ${caller.userId}` : networkOf(clientAddress);
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
