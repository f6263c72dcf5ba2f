import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const retryMs = 50;

/**
 * Runs `work` in at most one process of this host at a time. Without this, two processes that
 * initialise a token concurrently could create two tokens with the same label, which PKCS#11 cannot
 * distinguish. The lock is an abstract socket of Linux, which the kernel releases when its process
 * ends; on other systems there is no lock.
 */
export async function withHostLock<T>(name: string, work: () => Promise<T> | T): Promise<T> {
  if (process.platform !== 'linux') return work();
  const server = createServer();
  for (;;) {
    try {
      server.listen(`\0probatio-${hash('sha256', name)}`);
      await once(server, 'listening');
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      await delay(retryMs);
    }
  }
  try {
    return await work();
  } finally {
    server.close();
  }
}
