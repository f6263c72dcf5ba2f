import { once } from 'node:events';
import { createServer } from 'node:net';
import { threadId } from 'node:worker_threads';

/** Below the ports that systems hand out by themselves: one that is let go stays free for its owner. */
const lowest = 20_000;
const highest = 32_000;

/** Where this thread begins, so that those of one process, of which each uses a few, do not meet. */
const first = process.pid * 7_919 + threadId * 100;
let tried = 0;

/** A port that this thread has not tried yet, and that no other is likely to try at this moment. */
export function nextPort(): number {
  const port = lowest + ((first + tried) % (highest - lowest));
  tried += 1;
  return port;
}

/** A TCP port of 127.0.0.1 that nobody listens on at this moment. */
export async function freePort(): Promise<number> {
  for (;;) {
    try {
      return await probe('127.0.0.1', nextPort());
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
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
