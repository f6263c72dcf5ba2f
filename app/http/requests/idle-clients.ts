import type { IncomingMessage } from 'node:http';

/** A client that sends or takes nothing for about this long is let go. */
export const idleMs = 60_000;

/** While the body is on its way, a client that sends nothing for so long is let go. */
export function limitIdle(request: IncomingMessage, limitMs: number): void {
  request.setTimeout(limitMs, () => {
    request.destroy(new Error('the client stopped sending'));
  });
  // Node would hang up on who has sent everything and waits for a slow answer. One who was answered before has the
  // limit of idle connections by then, which must stay.
  request.once('end', () => {
    if (request.socket.timeout === limitMs) request.setTimeout(0);
  });
}
