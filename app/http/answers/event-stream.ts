import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Context } from 'koa';
import { z } from 'zod';
import { AppError } from '../../errors/app-error.ts';
import { idleMs } from '../requests/idle-clients.ts';

/** Who reads a stream of events. */
export interface Listener {
  /** Aborted once the connection is over, whoever ended it. */
  readonly gone: AbortSignal;
  /** Breaks the connection off. */
  cut(): void;
}

/** Server-sent events, as long as there are any. */
export interface EventStream {
  /**
   * Texts of whole events; the next one is asked for when the listener has taken those before. What
   * it throws is answered as an error. Not called for HEAD.
   */
  readonly open: (listener: Listener) => Promise<AsyncIterable<string>>;
}

/** The response of a route that answers events instead of JSON. */
export const EventStream = z.custom<EventStream>();

const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // Reverse proxies must not wait for the end of it.
  'X-Accel-Buffering': 'no',
};

/** Answers with back-pressure from the client. */
export async function sendEvents(
  ctx: Context,
  { open }: EventStream,
  limitMs = idleMs,
): Promise<void> {
  if (ctx.method === 'HEAD') {
    ctx.set(headers);
    return;
  }
  const { req, res } = ctx;
  const gone = new AbortController();
  const abort = () => gone.abort(new AppError('client_gone'));
  res.once('close', abort);
  if (req.socket.destroyed) abort();
  const events = await open({ gone: gone.signal, cut: () => void res.destroy() });
  res.setTimeout(limitMs, () => res.destroy());
  ctx.set(headers);
  // Koa would take a client that leaves for a failure.
  ctx.respond = false;
  pipeline(Readable.from(events, { highWaterMark: 1 }), res).catch((error: unknown) => {
    if (!gone.signal.aborted) ctx.app.emit('error', error, ctx);
  });
}
