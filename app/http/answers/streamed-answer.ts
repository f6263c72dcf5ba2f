import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import { z } from 'zod';
import { untilHangUp } from '../requests/hang-up.ts';
import { idleMs } from '../requests/idle-clients.ts';

/** Bytes that a client may save. */
interface StreamedBody {
  /** The client's own, of any characters but control characters. */
  readonly fileName: string;
  /** Bytes. */
  readonly length: number;
  /**
   * Resolves once the first bytes are there, and is not called for HEAD. The stream fails unless it
   * is whole: the connection is broken then, so that no client takes what it has for the rest.
   */
  readonly open: (hangUp: AbortSignal) => Promise<Readable>;
}

/** Without a body it is 304. */
export interface StreamedAnswer {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: StreamedBody;
}

/** The response of a route that answers bytes instead of JSON. */
export const StreamedAnswer = z.custom<StreamedAnswer>();

/** Answers with back-pressure from the client; Koa destroys the stream when the client hangs up. */
export async function sendStream(
  ctx: Context,
  { status, headers, body }: StreamedAnswer,
): Promise<void> {
  const isWanted = body !== undefined && ctx.method !== 'HEAD';
  const stream = isWanted ? await untilHangUp(ctx.req, body.open) : undefined;
  ctx.status = status;
  ctx.set(headers);
  if (body === undefined) return;
  ctx.type = 'application/octet-stream';
  ctx.length = body.length;
  ctx.attachment(body.fileName, { fallback: toAscii(body.fileName) });
  if (stream === undefined) return;
  ctx.res.setTimeout(idleMs, () => ctx.res.destroy());
  ctx.body = stream;
}

/** A name for clients that do not know RFC 8187, without what they misread. */
function toAscii(fileName: string): string {
  return fileName.replace(/[^\x20-\x7e]|["%\\]/gu, '_');
}
