import { once } from 'node:events';
import {
  createServer,
  request as send,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * A fault of the way to the identity provider. `hang`: no response, and nothing reaches the
 * provider. `silent`: the provider carries the request out and its response is kept back. `cut`:
 * the connection breaks in place of the response. A number is a status that is answered at once,
 * `slow` a delay of 10 seconds before the request reaches the provider, and a promise a delay until
 * it resolves.
 */
export type Fault = 'hang' | 'silent' | 'cut' | 'slow' | 500 | 401 | Promise<void>;

const slowMs = 10_000;

export interface FaultyProvider {
  /** The URL for MFA_KEYCLOAK_URL. */
  readonly url: string;
  /** Answers requests for which `find` returns a fault with it, from now on. */
  breakAs(find: (request: IncomingMessage) => Fault | undefined): void;
  /** Resolves once a request has met a fault and, if it is to, has reached the provider. */
  faultMet(): Promise<void>;
  /** Resolves once no request is on its way to the provider or is carried out there. */
  settled(): Promise<void>;
  /** Refuses connections, until `open`. */
  close(): Promise<void>;
  open(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a proxy to an identity provider that a test breaks. */
export async function startFaultyProvider(target: string): Promise<FaultyProvider> {
  let find: (request: IncomingMessage) => Fault | undefined = () => undefined;
  let met = Promise.withResolvers<void>();
  const timers = new Set<NodeJS.Timeout>();
  const underWay = new Set<Promise<void>>();

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = find(request);
    const body = await buffer(request);
    if (fault === 'hang') return met.resolve();
    if (typeof fault === 'number') {
      response.writeHead(fault, { 'content-type': 'application/json' }).end('{"error":"fault"}');
      return met.resolve();
    }
    if (fault === 'slow') {
      met.resolve();
      await new Promise<void>((resolve) => timers.add(setTimeout(resolve, slowMs)));
    }
    if (fault instanceof Promise) {
      met.resolve();
      await fault;
    }
    const [status, headers, text] = await pass(target, request, body);
    if (fault === 'cut') response.destroy();
    if (fault === 'cut' || fault === 'silent') return met.resolve();
    response.writeHead(status, headers).end(text);
  }

  const server = createServer((request, response) => {
    const answered = answer(request, response).catch(() => void response.destroy());
    underWay.add(answered);
    void answered.finally(() => underWay.delete(answered));
  });
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const port = await listen(0);
  const close = async () => {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return {
    url: `http://127.0.0.1:${port}`,
    breakAs(next) {
      find = next;
      met = Promise.withResolvers<void>();
    },
    faultMet: () => met.promise,
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
    close,
    async open() {
      await listen(port);
    },
    async stop() {
      for (const timer of timers) clearTimeout(timer);
      await close();
    },
  };
}

async function pass(
  target: string,
  { method, url = '/', headers }: IncomingMessage,
  body: Buffer,
): Promise<[number, Record<string, string>, Buffer]> {
  const { host: _host, connection: _connection, ...rest } = headers;
  const onward = send(new URL(url, target), { method, headers: rest });
  onward.end(body);
  const [response] = (await once(onward, 'response')) as [IncomingMessage];
  const type = response.headers['content-type'];
  const made: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  return [response.statusCode ?? 502, made, await buffer(response)];
}

/** Breaks every request to the provider, or none. */
export function breakAll({ breakAs }: FaultyProvider, fault: Fault | undefined): void {
  breakAs(() => fault);
}

/** Breaks the requests that change something at the provider. */
export function breakWrites({ breakAs }: FaultyProvider, fault: Fault): void {
  breakAs((request) => (isWrite(request) ? fault : undefined));
}

/** Returns whether a request changes a user or their credentials. */
export function isWrite({ method, url = '' }: IncomingMessage): boolean {
  return method !== 'GET' && url.startsWith('/admin');
}
