import type { IncomingMessage } from 'node:http';

/** Time after which a client that neither sends nor reads anything is disconnected. */
export const idleMs = 60_000;

/** Disconnects a client that sends nothing for `limitMs` while its request body is being read. */
export function limitIdle(request: IncomingMessage, limitMs: number): void {
  request.setTimeout(limitMs, () => {
    request.destroy(new Error('the client stopped sending'));
  });
  // Without this, Node would hang up on a client that has sent everything and waits for a slow
  // response. After an early response the socket has the limit of idle connections, which must
  // stay.
  request.once('end', () => {
    if (request.socket.timeout === limitMs) request.setTimeout(0);
  });
}
