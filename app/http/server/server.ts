import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import type Koa from 'koa';
import type { Log } from '../../telemetry/log.ts';
import { limitConnections, type ConnectionLimits } from './connection-limits.ts';
import { inTurnOfConnection } from './pipelining.ts';
import { refuse } from './refusal.ts';

interface ListenOptions extends ConnectionLimits {
  readonly host: string;
  /** The TCP port; with 0 the system picks a free one. */
  readonly port: number;
}

/** The longest time for which a drain leaves idle connections open. */
const maxPatienceMs = 5_000;
/**
 * The time for which a drain accepts connections though there is none: those who send them may
 * hear of the drain a moment later.
 */
const staleMs = 1_000;

/** Starts the server. Rejects with the system's error, such as EADDRINUSE if the port is taken. */
export async function listen(app: Koa, options: ListenOptions, log: Log) {
  const handle = app.callback();
  const open = new Set<ServerResponse>();
  let draining = false;
  const serve = inTurnOfConnection((request: IncomingMessage, response: ServerResponse) => {
    // A refused connection has been answered: its request must not be performed.
    if (request.socket.writableEnded) return;
    if (draining) response.setHeader('Connection', 'close');
    // Several layers listen for the end of a response, and a pipeline of Node several times.
    response.setMaxListeners(16);
    open.add(response);
    response.once('close', () => open.delete(response));
    void handle(request, response);
  });
  const server = createServer(
    {
      // Uploads may take long, so an idle limit replaces the limit on whole requests.
      requestTimeout: 0,
      headersTimeout: 30_000,
      keepAliveTimeout: 65_000,
      // requireWellFormed refuses a request without Host, with the usual error body.
      requireHostHeader: false,
    },
    serve,
  );
  limitConnections(server, options, log);
  // Unknown expectations are ignored (RFC 9110 §10.1.1).
  server.on('checkExpectation', serve);
  server.on('clientError', (error, socket) => {
    const isAnswering = [...open].some(
      (response) => response.socket === socket && response.headersSent,
    );
    if (socket.writable && !isAnswering) refuse(error, socket);
    else socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    /**
     * Asks for the end of each connection, and resolves once all requests under way are finished.
     * Connections that are still open after `limitSeconds` are closed.
     * @param patienceMs Milliseconds for which new connections are accepted, and idle ones stay
     *   open for a further request; by default a fifth of the limit, and 5 s at most.
     */
    async drain(
      limitSeconds: number,
      patienceMs = Math.min(limitSeconds * 200, maxPatienceMs),
    ): Promise<void> {
      const end = performance.now() + limitSeconds * 1000;
      draining = true;
      for (const response of open) {
        if (!response.headersSent) response.setHeader('Connection', 'close');
      }
      // The next request on a connection gets a response with `Connection: close`. If the server
      // closed it at once, a request could be in transit, which its client might not repeat.
      await setTimeout(Math.min(staleMs, patienceMs));
      await untilUnused(server, patienceMs - staleMs);
      await closeWithin(server, Math.max(0, end - performance.now()));
    },
  };
}

/** Resolves when the server has no connection, or at the limit. */
async function untilUnused(server: Server, limitMs: number): Promise<void> {
  const countConnections = promisify(server.getConnections.bind(server));
  const end = performance.now() + limitMs;
  while (performance.now() < end && (await countConnections()) > 0) await setTimeout(50);
}

async function closeWithin(server: Server, limitMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const idle = setInterval(() => server.closeIdleConnections(), 100);
  const limit = new AbortController();
  void setTimeout(limitMs, undefined, { signal: limit.signal }).then(
    () => server.closeAllConnections(),
    () => undefined,
  );
  await closed;
  clearInterval(idle);
  limit.abort();
}
