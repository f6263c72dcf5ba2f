import { createConnection, createServer, type Socket } from 'node:net';
import { freePort } from '../../app/dev/processes/free-port.ts';
import { listenOn } from '../support/network/listen-on.ts';

/** Passes connections on to processes, as a Service of Kubernetes does. */
export interface Front extends AsyncDisposable {
  readonly url: string;
  /** Sends new connections to these ports, in turn. Those that are open stay where they are. */
  route(ports: readonly number[]): void;
}

export async function startFront(): Promise<Front> {
  const open = new Set<Socket>();
  let ports: readonly number[] = [];
  let turn = 0;
  const server = createServer((client) => {
    turn += 1;
    const port = ports[turn % ports.length];
    if (port === undefined) {
      client.destroy();
      return;
    }
    const upstream = createConnection(port, '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      // The event close always follows an error.
      socket
        .on('error', () => undefined)
        .on('close', () => {
          open.delete(socket);
          other.destroySoon();
        });
      socket.pipe(other);
    }
  });
  const port = await freePort();
  await listenOn(server, port);
  return {
    url: `http://127.0.0.1:${port}`,
    route(next) {
      ports = next;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
