import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Below the ports that systems hand out by themselves: one that is let go stays free for its owner. */
const lowest = 20_000;
const highest = 32_000;

/**
 * A TCP port of 127.0.0.1 that nobody listens on at this moment. Nobody else is given it while this
 * process, or this thread, lives: its owner takes seconds to listen, or is killed and started again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest);
    const claim = await claimPort(port);
    if (claim === undefined) continue;
    try {
      return await probe('127.0.0.1', port);
    } catch (error) {
      claim[Symbol.dispose]();
      if (!isTaken(error)) throw error;
    }
  }
}

/** A name that only one can have, and that goes with its holder; undefined if another one has it. */
async function claimPort(port: number): Promise<Disposable | undefined> {
  // Elsewhere a name would be a file, which stays.
  if (process.platform !== 'linux') return { [Symbol.dispose]() {} };
  const claim = createServer().listen(`\0probatio-port-${port}`);
  try {
    await once(claim, 'listening');
    claim.unref();
    return { [Symbol.dispose]: () => void claim.close() };
  } catch (error) {
    if (isTaken(error)) return undefined;
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
