import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Treatment of one connection. */
export interface Plan {
  /** Cuts the connection once this many bytes of the body have come. */
  readonly cutAfter?: number;
  /** Reads slowly for this long. */
  readonly slowMs?: number;
}

/** Everything that came from the API on one connection. */
export interface Seen {
  readonly status: number | undefined;
  /** The server's id of the request. */
  readonly requestId: string | undefined;
  /** Bytes of the body. */
  readonly bytes: number;
}

export interface CountingProxy {
  /** Plans the connection from a local port, before its request is sent. */
  follow(port: number, plan: Plan): void;
  /** Returns what came on the connection from a local port, and forgets it. */
  takeSeen(port: number): Seen;
  readonly port: number;
  stop(): Promise<void>;
}

const slowPauseMs = 100;
const nothing: Seen = { status: undefined, requestId: undefined, bytes: 0 };

/** Starts a proxy before the API that counts the bytes of one response on each connection. */
export async function startCountingProxy(apiPort: () => number): Promise<CountingProxy> {
  const plans = new Map<number, Plan>();
  const sightings = new Map<number, Seen>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(apiPort(), '127.0.0.1');
    const { remotePort = 0 } = client;
    let head: Buffer | undefined = Buffer.alloc(0);
    let slowEnd = 0;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket);
          client.destroy();
          upstream.destroy();
        });
    }
    client.pipe(upstream);
    upstream.on('data', (chunk: Buffer) => {
      const { cutAfter = Infinity, slowMs = 0 } = plans.get(remotePort) ?? {};
      let seen = sightings.get(remotePort) ?? nothing;
      if (head === undefined) seen = { ...seen, bytes: seen.bytes + chunk.length };
      else {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf('\r\n\r\n');
        if (end !== -1) {
          const bytes = head.length - end - 4;
          seen = { ...readHead(head.subarray(0, end).toString('latin1')), bytes };
          head = undefined;
          slowEnd = performance.now() + slowMs;
        }
      }
      sightings.set(remotePort, seen);
      client.write(chunk);
      if (seen.bytes >= cutAfter) upstream.destroy();
      if (performance.now() >= slowEnd) return;
      upstream.pause();
      void pause(slowPauseMs).then(() => upstream.resume());
    });
    upstream.on('end', () => client.end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    follow(port, plan) {
      plans.set(port, plan);
    },
    takeSeen(port) {
      const seen = sightings.get(port) ?? nothing;
      sightings.delete(port);
      return seen;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function readHead(head: string): Pick<Seen, 'status' | 'requestId'> {
  return {
    status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]),
    requestId: /^x-request-id: (.+)$/im.exec(head)?.[1]?.trim(),
  };
}

/**
 * Sends one request through the proxy and reads until the connection ends. Resolves with what the
 * proxy saw of the response.
 */
export async function askThrough(
  proxy: CountingProxy,
  request: readonly string[],
  plan: Plan,
): Promise<Seen> {
  const socket = createConnection(proxy.port, '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const { localPort = 0 } = socket;
  proxy.follow(localPort, plan);
  const closed = once(socket, 'close');
  socket.resume();
  socket.write(`${request.join('\r\n')}\r\n\r\n`);
  await closed;
  return proxy.takeSeen(localPort);
}
