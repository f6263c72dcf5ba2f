import type { Context, Next } from 'koa';
import { AppError } from '../../errors/app-error.ts';

/** Returns the path, or undefined for a malformed request target, for which `ctx.path` throws. */
export function pathOf(ctx: Context): string | undefined {
  try {
    return ctx.path;
  } catch {
    return undefined;
  }
}

/** The most header lines of a request. Node silently drops lines beyond the 2000th. */
const maxHeaderLines = 200;

/**
 * Refuses requests that RFC 9112 §3.2 forbids but Node accepts, and requests with too many header
 * lines. Throws invalid_request or headers_too_large.
 */
export async function requireWellFormed(ctx: Context, next: Next): Promise<void> {
  if (ctx.req.rawHeaders.length > 2 * maxHeaderLines) throw new AppError('headers_too_large');
  const hosts = ctx.req.headersDistinct['host']?.length ?? 0;
  const hasHost = hosts === 1 || (hosts === 0 && ctx.req.httpVersion === '1.0');
  if (!hasHost || pathOf(ctx) === undefined) throw new AppError('invalid_request');
  await next();
}
