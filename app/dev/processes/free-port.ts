import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * The lowest port to choose. All ports to choose from are below the ephemeral range, so that the
 * operating system does not assign a released port to another program.
 */
const lowest = 20_000;
const highest = 32_000;

/**
 * Resolves with a TCP port of 127.0.0.1 on which no process listens. No other call, in this or
 * another process, returns the same port while this process runs, so a server may close the port
 * and open it again.
 */
export async function freePort(pick = () => randomInt(lowest, highest)): Promise<number> {
  for (;;) {
    const port = pick();
    try {
      await claim(port);
      return await probe('127.0.0.1', port);
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
}

/**
 * Reserves a TCP port by binding the UDP port with the same number, which nothing else uses. Throws
 * EADDRINUSE if the port is already reserved.
 */
async function claim(port: number): Promise<void> {
  const socket = createSocket('udp4').unref();
  try {
    socket.bind(port, '127.0.0.1');
    await once(socket, 'listening');
  } catch (error) {
    socket.close();
    throw error;
  }
}

/** Throws an error with a one-line message if no server can listen on `port` of `host`. */
export async function assertPortFree(host: string, port: number): Promise<void> {
  try {
    await probe(host, port);
  } catch (error) {
    if (isTaken(error)) {
      throw new Error(
        `port ${port} on ${host} is taken: stop the other process, or choose another with PORT=…`,
        { cause: error },
      );
    }
    throw new Error(`cannot listen on ${host}:${port} (${String(codeOf(error))})`, {
      cause: error,
    });
  }
}

function isTaken(error: unknown): boolean {
  return codeOf(error) === 'EADDRINUSE';
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
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
