import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';

interface ProbesOptions {
  readonly host: string;
  readonly port: number;
  readonly registry: Registry;
  /** Whether the API server has answered of late. */
  readonly isReady: () => boolean;
}

/**
 * Serves `/live`, `/ready` and `/metrics`. A process that does not lead is ready too: it waits. It
 * rejects with the system's error if it cannot listen.
 */
export async function serveProbes({ host, port, registry, isReady }: ProbesOptions) {
  const server = createServer((request, response) => void respond(request, response));

  async function respond({ method, url }: IncomingMessage, response: ServerResponse) {
    if (method !== 'GET' && method !== 'HEAD') return response.writeHead(405).end();
    if (url === '/live') return response.end('alive\n');
    if (url === '/ready') return response.writeHead(isReady() ? 200 : 503).end();
    if (url !== '/metrics') return response.writeHead(404).end();
    const text = await registry.metrics();
    return response.setHeader('Content-Type', registry.contentType).end(text);
  }

  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
