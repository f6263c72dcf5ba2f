import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { Router, type RouterContext } from '@koa/router';
import type { Context, Next } from 'koa';
import { inChildSpan } from '../../../signer/protocol/tracing/spans.ts';
import { AppError } from '../../errors/app-error.ts';
import type { JsonBodies } from '../bodies/json-body.ts';
import { isSafeString } from '../bodies/safe-text.ts';
import type { HeavyWork } from '../../async/heavy-work.ts';
import type { Caller, InternalCaller } from '../requests/caller.ts';
import { clientOf } from '../requests/client-of.ts';
import type { Reply } from '../requests/request.ts';
import { noteRoute, requestInfo } from '../requests/request-context.ts';
import type { SharedAddressWatch } from '../requests/shared-address.ts';
import { EventStream, sendEvents } from '../responses/event-stream.ts';
import { limitIdleReader } from '../responses/idle-readers.ts';
import { JsonText, sendText } from '../responses/json-text.ts';
import { sendStream, StreamedAnswer } from '../responses/streamed-answer.ts';
import { sendJson } from '../responses/streamed-json.ts';
import { admit, type Guards } from './guards.ts';
import type { IdempotencyKeys } from './idempotency.ts';
import { leaveAdmission, type RequestSlots } from './request-slots.ts';
import type { Route } from './route.ts';

/**
 * Creates the router of these routes. Each request passes the guards and the limits of its client,
 * then its body is read, then it waits for a slot of its client, and then the route validates its
 * input and handles it.
 */
export function createRouter<S>(
  routes: readonly Route<S>[],
  services: S,
  options: RouterOptions,
): Router {
  const router = new Router({ strict: true, sensitive: true });
  for (const route of routes) {
    for (const path of [route.path, ...(route.aliases ?? [])]) {
      router[route.method](path, serve(route, services, options));
    }
  }
  return router;
}

interface RouterOptions {
  readonly guards: Guards;
  readonly idempotencyKeys: IdempotencyKeys;
  readonly heavyWork: HeavyWork;
  readonly jsonBodies: JsonBodies;
  readonly sharedAddress: SharedAddressWatch;
  readonly slots: RequestSlots;
  /** Counts a request that may change something. Throws rate_limited. */
  readonly countWrite: (caller: Caller) => Promise<void>;
  /** Counts the bytes of files that were sent. */
  readonly countSentBytes: (bytes: number) => void;
  /** Counts a request with an internal API key, to a method and path. */
  readonly countInternalUse: (caller: InternalCaller, route: string) => void;
}

function serve<S>(route: Route<S>, services: S, options: RouterOptions) {
  const { guards, heavyWork, idempotencyKeys, jsonBodies, slots } = options;
  return async function serveRoute(ctx: RouterContext, _next: Next): Promise<void> {
    noteRoute(ctx, route.path);
    const caller = await admit(ctx.req.headers, route.access, guards);
    assertSafeUrl(ctx);
    const request = requestInfo(ctx);
    if (route.addressLimit !== undefined) {
      await guards.assertAddressMay(route.addressLimit, request.clientAddress);
    }
    if (isUser(caller)) {
      options.sharedAddress.note(caller.userId, request);
      if (route.method !== 'get') await options.countWrite(caller);
    }
    if (isHolder(caller)) {
      options.countInternalUse(caller, `${route.method.toUpperCase()} ${route.path}`);
    }
    leaveAdmission(ctx);
    ctx.status = route.status;
    const client = clientOf(caller, request);
    const raw = {
      params: ctx.params,
      query: { ...ctx.query },
      caller,
      request,
      reply: replyOf(ctx),
      heavyWork,
      idempotencyKeys,
    };
    const handle = (body?: unknown) => {
      const work = async () => {
        ctx.state.isHandled = true;
        return inChildSpan('handle', {}, async () => route.handle(services, { ...raw, body }));
      };
      const waits = route.isProbe !== true && !isHolder(caller);
      return waits ? slots.serve(route, client, ctx, work) : work();
    };
    const result = takesBody(route, ctx.req)
      ? await jsonBodies.withBody(ctx.req, client, route, handle)
      : await handle();
    if (route.response === EventStream) return sendEvents(ctx, EventStream.parse(result));
    if (route.response === StreamedAnswer) {
      return sendStream(ctx, StreamedAnswer.parse(result), options.countSentBytes);
    }
    if (result instanceof Readable) return sendJson(ctx, result);
    if (route.noStore === true) ctx.set('Cache-Control', 'no-store');
    if (result instanceof JsonText) sendText(ctx, result);
    else if (result !== undefined) ctx.body = result;
    limitIdleReader(ctx.res);
  };
}

function replyOf(ctx: Context): Reply {
  return {
    set: (name, value) => ctx.set(name, value),
    status: (code) => {
      ctx.status = code;
    },
  };
}

type AnyCaller = Caller | InternalCaller | undefined;

function isUser(caller: AnyCaller): caller is Caller {
  return caller !== undefined && 'userId' in caller;
}

/** Returns whether the caller has an internal API key, whose requests are not limited. */
function isHolder(caller: AnyCaller): caller is InternalCaller {
  return caller !== undefined && 'internalKey' in caller;
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
