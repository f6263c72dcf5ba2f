import type { Readable } from 'node:stream';
import { endOf, type Exchange } from './exchange.ts';

/** The part of a body that was sent. */
export interface SentBytes {
  /** Bytes that were handed to the socket. */
  readonly bytes: number;
  /** Whether the operating system has taken all bytes of the body. */
  readonly isComplete: boolean;
}

/**
 * Counts the bytes of the body of `length` bytes that is about to be piped to a response, and calls
 * `onSent` once the response is over.
 */
export function countSent(
  exchange: Exchange,
  length: number,
  onSent: (sent: SentBytes) => void,
): void {
  const { res } = exchange;
  let bytes = 0;
  let isFlushed = false;
  // Another listener of the body would make it flow before the response is ready.
  res.once('pipe', (body: Readable) => {
    body.on('data', (chunk: Buffer) => {
      if (res.destroyed) return;
      bytes += chunk.length;
      // A client may close the connection with the last byte, before the response has ended.
      if (bytes !== length) return;
      res.write('', (error) => {
        isFlushed = error === undefined || error === null;
      });
    });
  });
  const report = () => onSent({ bytes, isComplete: isFlushed });
  const ended = endOf(exchange);
  if (ended.aborted) report();
  else ended.addEventListener('abort', report, { once: true });
}
