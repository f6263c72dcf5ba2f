import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { Duplex } from 'node:stream';

export interface Line extends AsyncDisposable {
  /** `127.0.0.1:<port>` of the proxy. */
  readonly host: string;
  /** Returns the number of open connections. */
  count(): number;
}

export interface LineOptions {
  /** Creates a stream through which the bytes to the server pass. */
  readonly filter?: () => Duplex;
  /** Makes the proxy use TLS with the client. */
  readonly tls?: TlsOptions;
}

/** Starts a test's own TCP proxy to the server. */
export async function startLine(
  endpoint: string,
  { filter, tls }: LineOptions = {},
): Promise<Line> {
  const { hostname, port } = new URL(endpoint);
  const open = new Set<Socket>();
  function join(client: Socket): void {
    const upstream = connect(Number(port), hostname);
    open.add(client);
    (filter === undefined ? client : client.pipe(filter())).pipe(upstream).pipe(client);
    for (const end of [client, upstream]) {
      end.on('error', () => {});
      end.on('close', () => {
        open.delete(client);
        client.destroy();
        upstream.destroy();
      });
    }
  }
  const server: Server = tls === undefined ? createServer(join) : createTlsServer(tls, join);
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
