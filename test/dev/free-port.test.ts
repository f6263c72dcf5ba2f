import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import test from 'ava';
import { freePort } from '../../app/dev/processes/free-port.ts';

/** Returns a picker of this port first and then of any free port. */
function first(port: number): () => number {
  const ports = [port];
  return () => ports.pop() ?? 0;
}

test('a port on which another server listens is not returned', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.not(await freePort(first(port)), port);
});

test('a port is returned only once, even while nobody listens on it', async (t) => {
  const port = await freePort();
  t.not(await freePort(first(port)), port);
});
