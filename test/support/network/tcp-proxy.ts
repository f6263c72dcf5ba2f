import { once } from 'node:events';
import { createConnection, createServer, type Socket } from 'node:net';
import { freePort } from '../../../app/dev/processes/free-port.ts';
import { listenOn } from './listen-on.ts';

/**
 * A proxy before a service, with which a test can make the service unavailable to one vault only.
 */
export interface TcpProxy extends AsyncDisposable {
  /** The service's URL with the proxy's host and port. */
  readonly url: string;
  /** Breaks every connection and accepts no new one. */
  close(): Promise<void>;
  open(): Promise<void>;
  /** Stops all traffic on existing connections without closing them; new connections work. */
  stall(): void;
}

export async function startTcpProxy(serviceUrl: string): Promise<TcpProxy> {
  const service = new URL(serviceUrl);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = createConnection(Number(service.port), service.hostname);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      // The event close always follows an error.
      socket
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(socket);
          other.destroy();
        });
      socket.pipe(other);
    }
  });
  const port = await freePort();
  const open = () => listenOn(server, port);
  await open();

  async function close(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  }
  return {
    url: Object.assign(new URL(serviceUrl), { host: `127.0.0.1:${port}` }).href,
    close,
    open,
    stall() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    [Symbol.asyncDispose]: close,
  };
}
