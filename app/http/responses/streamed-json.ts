import { Readable } from 'node:stream';
import type { Context } from 'koa';
import { z } from 'zod';
import { limitIdleReader } from './idle-readers.ts';

/**
 * The response schema of a route that sends JSON text as a stream, because the whole text may be
 * too large for memory. If the stream fails, the connection is destroyed, so that no client
 * mistakes a truncated text for the whole.
 */
export const StreamedJson = z.custom<Readable>((value) => value instanceof Readable);

/** Sends JSON text, with back-pressure from the client. Koa destroys it if the client hangs up. */
export function sendJson(ctx: Context, text: Readable): void {
  limitIdleReader(ctx.res);
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = text;
}
