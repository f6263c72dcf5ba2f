import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems hand out by themselves: one that is let go stays free for its owner. */
const lowest = 20_000;
const highest = 32_000;

/**
 * A TCP port of 127.0.0.1 that nobody listens on at this moment, and that no other call here or in
 * another process answers while this process lives: its owner may let it go for a while.
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

/** Takes the UDP port of the same number, which nobody needs: by that the next caller knows. */
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

/** Throws one readable line when `port` cannot be listened on. */
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
