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
  /**
   * Stops all traffic on existing and new connections, which are still accepted: the service seems
   * to hang.
   */
  freeze(): void;
  /** Passes on what was sent since `stall` or `freeze`, and everything from now on. */
  thaw(): void;
}

/** The two sockets of one connection through a proxy. */
type Pair = readonly [client: Socket, upstream: Socket];

export async function startTcpProxy(serviceUrl: string): Promise<TcpProxy> {
  const service = new URL(serviceUrl);
  const pairs = new Set<Pair>();
  let isFrozen = false;
  const server = createServer((client) => {
    const upstream = createConnection(Number(service.port), service.hostname);
    const pair: Pair = [client, upstream];
    pairs.add(pair);
    for (const socket of pair) {
      // The event close always follows an error.
      socket
        .on('error', () => undefined)
        .on('close', () => {
          pairs.delete(pair);
          for (const each of pair) each.destroy();
        });
    }
    if (!isFrozen) connect(pair);
  });
  const port = await freePort();
  const open = () => listenOn(server, port);
  await open();

  async function close(): Promise<void> {
    if (!server.listening) return;
    const closed = once(server, 'close');
    server.close();
    for (const socket of [...pairs].flat()) socket.destroy();
    await closed;
  }

  function stall(): void {
    for (const pair of pairs) disconnect(pair);
  }
  return {
    url: Object.assign(new URL(serviceUrl), { host: `127.0.0.1:${port}` }).href,
    close,
    open,
    stall,
    freeze() {
      isFrozen = true;
      stall();
    },
    thaw() {
      isFrozen = false;
      for (const pair of pairs) connect(pair);
    },
    [Symbol.asyncDispose]: close,
  };
}

/** Passes on what either side sends. */
function connect([client, upstream]: Pair): void {
  disconnect([client, upstream]);
  client.pipe(upstream);
  upstream.pipe(client);
}

function disconnect(pair: Pair): void {
  for (const socket of pair) socket.unpipe().pause();
}
