import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors/app-error.ts';

/**
 * Runs work that may take minutes, for a request whose body has been read. Aborts `hangUp` with
 * client_gone if the connection closes before the work ends.
 */
export async function untilHangUp<T>(
  { socket }: IncomingMessage,
  work: (hangUp: AbortSignal) => Promise<T>,
): Promise<T> {
  const hangUp = new AbortController();
  const abort = () => hangUp.abort(new AppError('client_gone'));
  socket.once('close', abort);
  if (socket.destroyed) abort();
  // Lifts the limit on idle clients, which would disconnect a client that sends nothing while it
  // waits.
  socket.setTimeout(0);
  try {
    return await work(hangUp.signal);
  } finally {
    socket.off('close', abort);
  }
}

/** Settles as `promise` does, or rejects with the reason of `signal` as soon as it is aborted. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  return Promise.race([promise, aborted]);
}
