import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

export interface LyingVault {
  readonly baseUrl: string;
  /** Number of requests that carried an access token. */
  readonly authorized: number;
}

/**
 * Starts a server that passes logins on to the vault and replaces M2 in the responses. It stops
 * when the test ends.
 */
export async function startLyingVault(t: ExecutionContext, vaultUrl: string): Promise<LyingVault> {
  const server = createServer((request, response) => {
    if (request.headers.authorization !== undefined) lying.authorized += 1;
    const answer = async () => {
      const headers = { 'Content-Type': 'application/json' };
      const url = new URL(request.url ?? '/', vaultUrl);
      const body = await buffer(request);
      const truth = await fetch(url, { method: 'POST', headers, body });
      const text = await truth.text();
      const lie = text.replace(/"M2":"[0-9a-f]{64}"/, `"M2":"${'00'.repeat(32)}"`);
      response.writeHead(truth.status, headers).end(lie);
    };
    answer().catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const lying = { baseUrl: `http://127.0.0.1:${port}`, authorized: 0 };
  return lying;
}
