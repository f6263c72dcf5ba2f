import { hash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const retryMs = 50;

/**
 * Runs `work` in one process of this host at a time. PKCS#11 cannot say which of two tokens made at
 * once is meant. The lock is an abstract socket of Linux, which ends with its process; elsewhere
 * there is no lock.
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
