import { once } from 'node:events';
import type { Server } from 'node:net';
import { until } from '../../../app/dev/processes/until.ts';

/**
 * Listens on a port of 127.0.0.1 that this process may just have closed. Retries while the port is
 * in use: a child that another test spawns at that moment inherits open sockets until it executes
 * its own program.
 */
export async function listenOn(server: Server, port: number): Promise<void> {
  const listens = () =>
    once(server.listen(port, '127.0.0.1'), 'listening').then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EADDRINUSE') return false;
        throw error;
      },
    );
  await until(listens, { what: `port ${port} to be free`, timeoutMs: 60_000 });
}
