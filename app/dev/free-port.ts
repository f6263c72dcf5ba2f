import { once } from 'node:events';
import { createServer } from 'node:net';

/** A TCP port of 127.0.0.1 that nobody listens on at this moment. */
export async function freePort(): Promise<number> {
  return probe('127.0.0.1', 0);
}

/** Throws one readable line when `port` cannot be listened on. */
export async function assertPortFree(host: string, port: number): Promise<void> {
  try {
    await probe(host, port);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'EADDRINUSE') {
      throw new Error(
        `port ${port} on ${host} is taken: stop the other process, or choose another with PORT=…`,
        { cause: error },
      );
    }
    throw new Error(`cannot listen on ${host}:${port} (${String(code)})`, { cause: error });
  }
}

async function probe(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host);
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('not a TCP address');
  return address.port;
}
