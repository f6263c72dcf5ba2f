import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
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

const usualLingerMs = 500;

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
     * Stops accepting connections and resolves once all requests under way are finished.
     * Connections that are still open after `limitSeconds` are closed.
     * @param lingerMs Milliseconds to wait for requests that are already in transit.
     */
    async drain(limitSeconds: number, lingerMs = usualLingerMs): Promise<void> {
      draining = true;
      for (const response of open) {
        if (!response.headersSent) response.setHeader('Connection', 'close');
      }
      // Requests that are already in transit on idle connections still get a response, with
      // `Connection: close`.
      await setTimeout(lingerMs);
      await closeWithin(server, limitSeconds);
    },
  };
}

async function closeWithin(server: Server, limitSeconds: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const idle = setInterval(() => server.closeIdleConnections(), 100);
  const limit = new AbortController();
  void setTimeout(limitSeconds * 1000, undefined, { signal: limit.signal }).then(
    () => server.closeAllConnections(),
    () => undefined,
  );
  await closed;
  clearInterval(idle);
  limit.abort();
}
