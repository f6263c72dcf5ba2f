import type { IncomingMessage } from 'node:http';

/** While the body is on its way, a client that sends nothing for so long is let go. */
export function limitIdle(request: IncomingMessage, idleMs: number): void {
  request.setTimeout(idleMs, () => {
    request.destroy(new Error('the client stopped sending'));
  });
  // Node would hang up on who has sent everything and waits for a slow answer. One who was answered before has the
  // limit of idle connections by then, which must stay.
  request.once('end', () => {
    if (request.socket.timeout === idleMs) request.setTimeout(0);
  });
}
