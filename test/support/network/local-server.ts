import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ExecutionContext } from 'ava';

/**
 * Lets a server listen on a free port of 127.0.0.1 until the test ends, which closes its
 * connections. Returns the port.
 */
export async function listenLocally(t: ExecutionContext, server: Server): Promise<number> {
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return (server.address() as AddressInfo).port;
}
