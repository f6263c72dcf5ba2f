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
  status: number | undefined;
  /** The server's id of the request. */
  requestId: string | undefined;
  /** Bytes of the body. */
  bytes: number;
}

export interface CountingProxy {
  /** Plans the connection from a local port, before its request is sent. */
  follow(port: number, plan: Plan): Seen;
  readonly port: number;
  stop(): Promise<void>;
}

const slowPauseMs = 100;

/** Starts a proxy before the API that counts the bytes of one response on each connection. */
export async function startCountingProxy(apiPort: () => number): Promise<CountingProxy> {
  const followed = new Map<number, { readonly plan: Plan; readonly seen: Seen }>();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(apiPort(), '127.0.0.1');
    const { remotePort = 0 } = client;
    let head: Buffer | undefined = Buffer.alloc(0);
    const slowUntil = (plan: Plan) => performance.now() + (plan.slowMs ?? 0);
    let slowEnd: number | undefined;
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
      const { plan, seen } = followed.get(remotePort) ?? {};
      if (plan === undefined || seen === undefined) return;
      if (head === undefined) seen.bytes += chunk.length;
      else {
        head = Buffer.concat([head, chunk]);
        const end = head.indexOf('\r\n\r\n');
        if (end !== -1) {
          readHead(head.subarray(0, end).toString('latin1'), seen);
          seen.bytes = head.length - end - 4;
          head = undefined;
          slowEnd = slowUntil(plan);
        }
      }
      client.write(chunk);
      if (seen.bytes >= (plan.cutAfter ?? Infinity)) upstream.destroy();
      if (performance.now() >= (slowEnd ?? 0)) return;
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
      const seen: Seen = { status: undefined, requestId: undefined, bytes: 0 };
      followed.set(port, { plan, seen });
      return seen;
    },
    async stop() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function readHead(head: string, seen: Seen): void {
  seen.status = Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1]);
  seen.requestId = /^x-request-id: (.+)$/im.exec(head)?.[1]?.trim();
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
  const seen = proxy.follow(socket.localPort ?? 0, plan);
  const closed = once(socket, 'close');
  socket.resume();
  socket.write(`${request.join('\r\n')}\r\n\r\n`);
  await closed;
  return seen;
}
