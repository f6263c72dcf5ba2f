import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy to a server that can hold bytes for any time, even after the client has disconnected. */
export interface HoldingLine extends AsyncDisposable {
  /** URL of the proxy. */
  readonly url: string;
  /** Holds what the next connection that sends more bytes than this sends from then on. */
  holdAfter(bytes: number): void;
  /** Returns the held bytes. */
  held(): Buffer;
  /** Sends the held bytes to the server. */
  release(): void;
}

export async function startHoldingLine(serverUrl: string): Promise<HoldingLine> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let limit = Infinity;
  let slow:
    | { readonly client: Socket; readonly upstream: Socket; readonly held: Buffer[] }
    | undefined;

  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let sent = 0;
    client.on('data', (chunk: Buffer) => {
      sent += chunk.length;
      if (sent > limit) {
        limit = Infinity;
        slow = { client, upstream, held: [] };
      }
      if (slow?.client === client) slow.held.push(chunk);
      else upstream.write(chunk);
    });
    upstream.pipe(client);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
    }
    client.on('close', () => {
      if (slow?.client !== client) upstream.destroy();
    });
    upstream.on('close', () => client.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    holdAfter(bytes) {
      limit = bytes;
    },
    held: () => Buffer.concat(slow?.held ?? []),
    release() {
      // The server's response is lost if the client has disconnected.
      slow?.upstream.write(Buffer.concat(slow.held.splice(0)));
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
