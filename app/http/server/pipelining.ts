import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Serve = (request: IncomingMessage, response: ServerResponse) => void;

/** Requests of one connection that may wait behind the request that is being answered. */
export const maxPipelined = 4;

/**
 * Returns a listener that serves the requests of each connection one after another, also those that
 * a client sends ahead of the responses (RFC 9112 §9.3.2). Otherwise one client that reads nothing
 * could have thousands of them handled at once. A connection with too many of them is closed; the
 * requests that waited are not handled.
 */
export function inTurnOfConnection(serve: Serve): Serve {
  const lines = new WeakMap<Socket, (() => void)[]>();

  function start(line: (() => void)[], request: IncomingMessage, response: ServerResponse): void {
    response.once('close', () => {
      const next = line.shift();
      if (next !== undefined) next();
      else if (lines.get(request.socket) === line) lines.delete(request.socket);
    });
    serve(request, response);
  }

  return function serveInTurn(request, response) {
    const { socket } = request;
    const line = lines.get(socket);
    if (line === undefined) {
      const own: (() => void)[] = [];
      lines.set(socket, own);
      start(own, request, response);
    } else if (line.length < maxPipelined) {
      line.push(() => {
        if (!socket.destroyed) start(line, request, response);
      });
    } else {
      line.length = 0;
      socket.destroy();
    }
  };
}
