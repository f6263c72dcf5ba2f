import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { Duplex } from 'node:stream';

export interface Line extends AsyncDisposable {
  /** `127.0.0.1:<port>`, which leads to the server. */
  readonly host: string;
  /** How many connections are open. */
  count(): number;
}

export interface LineOptions {
  /** What the bytes to the server pass through. */
  filter?: () => Duplex;
  /** Speaks TLS with the client. */
  tls?: TlsOptions;
}

/** A way of a test's own to the server. */
export async function startLine(
  endpoint: string,
  { filter, tls }: LineOptions = {},
): Promise<Line> {
  const { hostname, port } = new URL(endpoint);
  const open = new Set<Socket>();
  function join(client: Socket): void {
    const upstream = connect(Number(port), hostname);
    open.add(client);
    (filter ? client.pipe(filter()) : client).pipe(upstream).pipe(client);
    for (const end of [client, upstream]) {
      end.on('error', () => {});
      end.on('close', () => {
        open.delete(client);
        client.destroy();
        upstream.destroy();
      });
    }
  }
  const server: Server = tls ? createTlsServer(tls, join) : createServer(join);
  server.on('tlsClientError', () => {});
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    count: () => open.size,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const client of open) client.destroy();
      await closed;
    },
  };
}
