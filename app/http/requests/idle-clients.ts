import type { IncomingMessage } from 'node:http';

/** Time after which a client that neither sends nor reads anything is disconnected. */
export const idleMs = 60_000;

/** Disconnects a client that sends nothing for `limitMs` while its request body is being read. */
export function limitIdle(request: IncomingMessage, limitMs: number): void {
  request.setTimeout(limitMs, () => {
    request.destroy(new Error('the client stopped sending'));
  });
  // Lifts the limit once the body has arrived: Node would otherwise disconnect a client that waits
  // for a slow response. After an early response, the socket has the timeout of idle connections,
  // which must stay.
  request.once('end', () => {
    if (request.socket.timeout === limitMs) request.setTimeout(0);
  });
}
