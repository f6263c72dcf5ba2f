import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Context } from 'koa';
import { z } from 'zod';
import { endOf } from '../requests/exchange.ts';
import { limitIdleReader } from './idle-readers.ts';

/** The client that reads a stream of events. */
export interface Listener {
  /** Aborted once the connection has closed, whichever side closed it. */
  readonly gone: AbortSignal;
  /** Destroys the connection. */
  cut(): void;
}

/** A stream of server-sent events. */
export interface EventStream {
  /**
   * Opens the stream. Each item is the text of whole events, and is requested only after the
   * connection has accepted the items before it. If this method throws, the client gets an error
   * response. Not called for HEAD.
   */
  readonly open: (listener: Listener) => Promise<AsyncIterable<string>>;
}

/** The response schema of a route that sends events instead of JSON. */
export const EventStream = z.custom<EventStream>();

const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-store',
  // Tells reverse proxies not to buffer the stream.
  'X-Accel-Buffering': 'no',
};

/** Sends a stream of events, with back-pressure from the client. */
export async function sendEvents(
  ctx: Context,
  { open }: EventStream,
  limitMs?: number,
): Promise<void> {
  if (ctx.method === 'HEAD') {
    ctx.set(headers);
    return;
  }
  const { res } = ctx;
  const gone = endOf(ctx);
  const events = await open({ gone, cut: () => void res.destroy() });
  limitIdleReader(res, limitMs);
  ctx.set(headers);
  // The stream is sent without Koa, which would report a client that disconnects as an error.
  ctx.respond = false;
  pipeline(Readable.from(events, { highWaterMark: 1 }), res).catch((error: unknown) => {
    if (!gone.aborted) ctx.app.emit('error', error, ctx);
  });
}
