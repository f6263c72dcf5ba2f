import { once } from 'node:events';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/** A break at a message of the client. */
interface Cut {
  /** The number of the message, from 1. */
  readonly message: number;
  /** Whether the message still reaches Postgres. */
  readonly isSent: boolean;
  /** Called at the break. */
  readonly onCut?: () => void;
}

/**
 * Starts a server before Postgres that breaks the connection at a message of the client: before the
 * message reaches Postgres, or right after it.
 */
export async function startCutter(t: ExecutionContext, databaseUrl: string) {
  const { port, hostname } = new URL(databaseUrl);
  let cut: Cut | undefined;
  let count = 0;
  const server = createServer((client) => {
    const upstream = createConnection(Number(port), hostname);
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    upstream.on('close', () => client.destroy()).pipe(client);
    client.on('close', () => upstream.destroy());
    client.on('data', (message) => {
      count += 1;
      const isCut = cut !== undefined && count >= cut.message;
      if (!isCut || cut?.isSent === true) upstream.write(message);
      if (!isCut) return;
      cut?.onCut?.();
      client.destroy();
      upstream.end();
    });
  });
  t.teardown(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const own = (server.address() as AddressInfo).port;
  return {
    url: Object.assign(new URL(databaseUrl), { port: own }).href,
    counted: () => count,
    cutAt(next: Cut) {
      cut = next;
    },
  };
}
