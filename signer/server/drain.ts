import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const checkMs = 1_000;

interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
}

/**
 * Returns the function that drains the server: it refuses new connections and resolves once every
 * complete request has its response. About every second it closes the connections of clients that
 * have not sent a complete request or do not read their response, such as paused clients.
 */
export function createDrain(server: Server): () => Promise<void> {
  const exchanges = new Map<Socket, Exchange | undefined>();
  server.on('connection', (socket: Socket) => {
    exchanges.set(socket, undefined);
    socket.once('close', () => exchanges.delete(socket));
  });
  server.on('request', (req, res) => {
    const { socket } = req;
    exchanges.set(socket, { req, res });
    res.once('close', () => {
      if (exchanges.has(socket)) exchanges.set(socket, undefined);
      // server.close() ends only the connections that were idle when it was called.
      if (!server.listening) server.closeIdleConnections();
    });
  });

  function cutOff(): void {
    for (const [socket, exchange] of exchanges) {
      if (exchange?.req.complete !== true || exchange.res.writableEnded) socket.destroy();
    }
  }

  return async () => {
    const checking = setInterval(cutOff, checkMs);
    await new Promise((resolve) => server.close(resolve));
    clearInterval(checking);
  };
}
