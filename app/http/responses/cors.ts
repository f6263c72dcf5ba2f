import type { Context, Next } from 'koa';

const methods = 'GET, POST, PUT, DELETE';
const requestHeaders = [
  'Authorization',
  'Content-Digest',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'If-Range',
  'Last-Event-ID',
  'Range',
  'X-Device-Id',
  'X-Reauth-Token',
  'X-Request-Id',
  'X-Schema-Version',
  'X-Sync-Request-Id',
].join(', ');
const readableHeaders = [
  'Accept-Ranges',
  'Content-Disposition',
  'Content-Range',
  'Date',
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
  'X-Schema-Version-Supported',
].join(', ');
const preflightSeconds = '600';

/** Allows pages of these origins to call the API with a token. Cookies are never allowed. */
export function cors(origins: readonly string[]) {
  return async function allowOrigins(ctx: Context, next: Next): Promise<void> {
    ctx.vary('Origin');
    const origin = ctx.get('Origin');
    if (!origins.includes(origin)) return next();
    ctx.set('Access-Control-Allow-Origin', origin);
    ctx.set('Access-Control-Expose-Headers', readableHeaders);
    if (ctx.method !== 'OPTIONS' || ctx.get('Access-Control-Request-Method') === '') return next();
    ctx.set('Access-Control-Allow-Methods', methods);
    ctx.set('Access-Control-Allow-Headers', requestHeaders);
    ctx.set('Access-Control-Max-Age', preflightSeconds);
    ctx.status = 204;
  };
}
