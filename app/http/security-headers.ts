import type { Context, Next } from 'koa';
import type { ProxyTrust } from './client-address.ts';

/** The headers every answer carries; a page that needs another policy sets its own afterwards. */
export function securityHeaders(trust: ProxyTrust) {
  return async function setSecurityHeaders(ctx: Context, next: Next): Promise<void> {
    ctx.set('X-Content-Type-Options', 'nosniff');
    ctx.set('Referrer-Policy', 'no-referrer');
    ctx.set('Cross-Origin-Resource-Policy', 'same-origin');
    ctx.set('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
    if (trust.isSecure(ctx.req)) {
      ctx.set('Strict-Transport-Security', 'max-age=31536000; includeSubDomains');
    }
    await next();
  };
}
