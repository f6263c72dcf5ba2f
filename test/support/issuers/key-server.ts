import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { JWK } from 'jose';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { listenOn } from '../network/listen-on.ts';

/** A server on loopback for an issuer's key set, which a test changes, breaks and stops. */
export interface KeyServer {
  readonly url: string;
  /** Number of requests so far. */
  readonly requests: number;
  /** Publishes these keys from now on. */
  publish(...keys: readonly JWK[]): void;
  /** Answers every request with this listener from now on. */
  answer(listener: RequestListener): void;
  /** Breaks every connection and accepts no new one. */
  close(): Promise<void>;
  open(): Promise<void>;
}

export async function startKeyServer(): Promise<KeyServer> {
  let requests = 0;
  let listener: RequestListener = (_request, response) => response.end('{"keys":[]}');
  const server = createServer((request, response) => {
    requests += 1;
    listener(request, response);
  });
  const port = await freePort();
  const open = () => listenOn(server, port);
  await open();
  return {
    url: `http://127.0.0.1:${port}/keys`,
    get requests() {
      return requests;
    },
    publish(...keys) {
      listener = (_request, response) => response.end(JSON.stringify({ keys }));
    },
    answer(next) {
      listener = next;
    },
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
    open,
  };
}
