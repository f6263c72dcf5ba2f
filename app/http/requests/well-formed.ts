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

/** Refuses requests that RFC 9112 §3.2 forbids but Node accepts. Throws invalid_request. */
export async function requireWellFormed(ctx: Context, next: Next): Promise<void> {
  const hosts = ctx.req.headersDistinct['host']?.length ?? 0;
  const hasHost = hosts === 1 || (hosts === 0 && ctx.req.httpVersion === '1.0');
  if (!hasHost || pathOf(ctx) === undefined) throw new AppError('invalid_request');
  await next();
}
