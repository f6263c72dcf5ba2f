import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { z } from 'zod';
import { idleMs } from '../requests/idle-clients.ts';

/**
 * The response schema of a route that sends JSON text as a stream, because the whole text may be
 * too large for memory. If the stream fails, the connection is destroyed, so that no client
 * mistakes a truncated text for the whole.
 */
export const StreamedJson = z.custom<Readable>((value) => value instanceof Readable);

/** Sends JSON text, with back-pressure from the client. Koa destroys it if the client hangs up. */
export function sendJson(ctx: Context, text: Readable): void {
  ctx.res.setTimeout(idleMs, () => ctx.res.destroy());
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = text;
}
