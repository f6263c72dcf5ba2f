import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { createServer, request as send, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';

/**
 * Starts a proxy that passes requests on to the vault, except that requests for which `passes` is
 * false get no response. Resolves with its base URL; it stops when the test ends.
 */
export async function startStallingProxy(
  t: ExecutionContext,
  vaultUrl: string,
  passes: (request: IncomingMessage) => boolean,
): Promise<string> {
  // A demo that is busy deriving a key must not lose its connection to the keep-alive timeout.
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    if (!passes(request)) {
      request.resume();
      return;
    }
    const { method, headers, url = '/' } = request;
    const onward = send(new URL(url, vaultUrl), { method, headers }, (answer) => {
      // The client may be gone by now, as these tests kill it.
      if (response.destroyed) {
        answer.destroy();
        return;
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      pipeline(answer, response, () => {});
    });
    pipeline(request, onward, (error) => {
      if (error !== undefined && error !== null) response.destroy();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return `http://127.0.0.1:${port}`;
}
