import { randomUUID } from 'node:crypto';
import type { Context, Next } from 'koa';
import type { Log } from '../../telemetry/log.ts';
import type { ProxyTrust } from './client-address.ts';
import type { RequestInfo } from './request.ts';
import { pathOf } from './well-formed.ts';

const acceptedId = /^[\w.-]{1,128}$/;

/**
 * Assigns the request its id, sends the id in X-Request-Id, and logs one line when the response
 * ends. This middleware must be mounted first.
 */
export function requestContext(trust: ProxyTrust, log: Log) {
  return async function nameRequest(ctx: Context, next: Next): Promise<void> {
    const startedAt = performance.now();
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
    ctx.res.once('close', () => {
      log.info(
        {
          requestId: info.id,
          method: ctx.method,
          path: info.path,
          status: ctx.res.headersSent ? ctx.res.statusCode : 0,
          aborted: !ctx.res.writableFinished,
          durationMs: Math.round(performance.now() - startedAt),
        },
        'request',
      );
    });
    await next();
  };
}

export function requestInfo(ctx: Context): RequestInfo {
  return ctx.state.request as RequestInfo;
}
