import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import { z } from 'zod';
import { untilHangUp } from '../requests/hang-up.ts';
import { limitIdleReader } from './idle-readers.ts';
import { countSent, type SentBytes } from '../requests/sent-bytes.ts';

/** A body of bytes that a client may save as a file. */
interface StreamedBody {
  /** File name that a client chose, with any characters except control characters. */
  readonly fileName: string;
  /** Length in bytes. */
  readonly length: number;
  /**
   * Opens the stream, and resolves once its first bytes are available. Not called for HEAD. A
   * stream that ends too early must fail: the connection is then destroyed, so that no client
   * mistakes a truncated body for the whole file.
   */
  readonly open: (hangUp: AbortSignal) => Promise<Readable>;
  /** Called once, if the stream was opened, when the response is over. */
  readonly onSent?: (sent: SentBytes) => void;
}

/** A response of bytes. It has no body if its status is 304. */
export interface StreamedAnswer {
  readonly status: 200 | 206 | 304;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: StreamedBody;
}

/** The response schema of a route that sends bytes instead of JSON. */
export const StreamedAnswer = z.custom<StreamedAnswer>();

/**
 * Sends bytes, with back-pressure from the client. Koa destroys the stream if the client hangs up.
 * Calls `onBytes` with the number of the bytes that were sent.
 */
export async function sendStream(
  ctx: Context,
  { status, headers, body }: StreamedAnswer,
  onBytes: (bytes: number) => void,
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
  countSent(ctx, body.length, (sent) => {
    onBytes(sent.bytes);
    body.onSent?.(sent);
  });
  limitIdleReader(ctx.res);
  ctx.body = stream;
}

/** Returns an ASCII name for clients without RFC 8187, without characters that they misread. */
function toAscii(fileName: string): string {
  return fileName.replace(/[^\x20-\x7e]|["%\\]/gu, '_');
}
