import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const checkMs = 1_000;

type Exchange = { req: IncomingMessage; res: ServerResponse };

/**
 * Gives what closes the server: it takes no new connection, answers every request that has come
 * whole, and resolves then. Who has not sent one within a second, or does not read the answer, as a
 * client that was paused, is not waited for.
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
      // close() ends idle connections only; those at work then become idle in their turn.
      if (!server.listening) server.closeIdleConnections();
    });
  });

  function cutOff(): void {
    for (const [socket, exchange] of exchanges) {
      if (!exchange?.req.complete || exchange.res.writableEnded) socket.destroy();
    }
  }

  return async () => {
    const checking = setInterval(cutOff, checkMs);
    await new Promise((resolve) => server.close(resolve));
    clearInterval(checking);
  };
}
