import type { Context, Next } from 'koa';
import type { ProxyTrust } from '../requests/client-address.ts';

/** Headers of every response. */
export const securityHeaderValues = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/**
 * Sets the security headers of every response. Pages that need another policy override it later.
 */
export function securityHeaders(trust: ProxyTrust) {
  return async function setSecurityHeaders(ctx: Context, next: Next): Promise<void> {
    ctx.set(securityHeaderValues);
    if (trust.isSecure(ctx.req)) {
      ctx.set('Strict-Transport-Security', 'max-age=31536000; includeSubDomains');
    }
    await next();
  };
}
