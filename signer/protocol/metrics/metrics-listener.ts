import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import { answerScrape } from './scrape.ts';

interface MetricsListenerOptions {
  readonly host: string;
  /** The TCP port; with 0 the system picks a free one. */
  readonly port: number;
  readonly registry: Registry;
  /** Whether `/live` answers 200 for as long as the process answers at all. */
  readonly hasLiveness: boolean;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void;

/**
 * Listens for scrapes of `/metrics`, apart from every other listener of the process. Rejects with
 * the system's error, such as EADDRINUSE if the port is taken.
 */
export async function listenForScrapes(options: MetricsListenerOptions) {
  const { host, port, registry, hasLiveness } = options;
  const answers = new Map<string, Answer>([
    ['/metrics', (request, response) => answerScrape(registry, request, response)],
  ]);
  if (hasLiveness) answers.set('/live', (_request, response) => void response.end('alive\n'));

  const server = createServer((request, response) => void respond(request, response));
  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = answers.get(request.url ?? '');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (!isRead || answer === undefined) {
      response.writeHead(answer === undefined ? 404 : 405).end();
      return;
    }
    try {
      await answer(request, response);
    } catch {
      response.writeHead(500).end();
    }
  }

  server.listen(port, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    /** Stops at once: a scraper loses nothing that it could still use. */
    async close(): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
