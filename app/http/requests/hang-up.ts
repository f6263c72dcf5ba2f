import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors/app-error.ts';

/**
 * Does work that may last minutes for a request that has been read. `hangUp` is aborted with
 * client_gone when the connection ends before the work does.
 */
export async function untilHangUp<T>(
  { socket }: IncomingMessage,
  work: (hangUp: AbortSignal) => Promise<T>,
): Promise<T> {
  const hangUp = new AbortController();
  const abort = () => hangUp.abort(new AppError('client_gone'));
  socket.once('close', abort);
  if (socket.destroyed) abort();
  // Who waits for us sends nothing meanwhile: a limit on idle clients would end the connection.
  socket.setTimeout(0);
  try {
    return await work(hangUp.signal);
  } finally {
    socket.off('close', abort);
  }
}

/** What `promise` resolves to. Throws the signal's reason where it is aborted before. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = new Promise<never>((_resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
  return Promise.race([promise, aborted]);
}
