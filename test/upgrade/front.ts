import { createServer, request as send } from 'node:http';
import { pipeline } from 'node:stream';
import { freePort } from '../../app/dev/processes/free-port.ts';
import { listenOn } from '../support/network/listen-on.ts';

/** Passes requests on to processes, each by a connection of its own, as an ingress does. */
export interface Front extends AsyncDisposable {
  readonly url: string;
  /** Sends new requests to these ports, in turn. Those under way stay where they are. */
  route(ports: readonly number[]): void;
}

/** Milliseconds for which clients may keep an idle connection to the front. */
const idleMs = 600_000;

/**
 * Starts a front. It retries nothing: if a process breaks a connection, so does the front. Clients
 * that reached the processes by connections that they reuse would lose a request now and then, as
 * HTTP/1.1 lets a server close an idle connection at the moment of a request.
 */
export async function startFront(): Promise<Front> {
  let ports: readonly number[] = [];
  let turn = 0;
  const server = createServer({ keepAliveTimeout: idleMs, requestTimeout: 0 }, (asked, answer) => {
    turn += 1;
    const port = ports[turn % ports.length] ?? 0;
    const { method, url: path, headers } = asked;
    const forward = { host: '127.0.0.1', port, agent: false, method, path } as const;
    const upstream = send({ ...forward, headers: { ...headers, connection: 'close' } });
    upstream.on('response', (response) => {
      const kept = { ...response.headers };
      // Both are of the connection to the process.
      delete kept.connection;
      delete kept['transfer-encoding'];
      answer.writeHead(response.statusCode ?? 0, response.statusMessage, kept);
      pipeline(response, answer, () => undefined);
    });
    upstream.on('error', () => answer.destroy());
    answer.on('close', () => upstream.destroy());
    pipeline(asked, upstream, () => undefined);
  });
  const port = await freePort();
  await listenOn(server, port);
  return {
    url: `http://127.0.0.1:${port}`,
    route(next) {
      ports = next;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
