import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a server on which bytes can be under way for any time, whatever becomes of who sent them. */
export interface HoldingLine extends AsyncDisposable {
  /** Leads to the server. */
  readonly url: string;
  /** Of the next connection that sends more than this, the rest is held. */
  holdAfter(bytes: number): void;
  /** What is held. */
  held(): Buffer;
  /** Lets what is held arrive. */
  release(): void;
}

export async function startHoldingLine(serverUrl: string): Promise<HoldingLine> {
  const { hostname, port } = new URL(serverUrl);
  const sockets = new Set<Socket>();
  let limit = Infinity;
  let slow: { client: Socket; upstream: Socket; held: Buffer[] } | undefined;

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
      // What the server answers goes nowhere, if nobody is there any more.
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
