import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import {
  createServer,
  request as send,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { testStack } from '../../support/vault/stack.ts';

/** A response in place of the signer's own; `cut` breaks the connection without one. */
export type Failure = { readonly status: number; readonly text: string } | 'cut';

export interface SignerProxy {
  readonly socketPath: string;
  /** Number of batches received so far. */
  readonly batches: number;
  /** Decides about each batch, given its JSON; undefined passes it on to the signer. */
  fail: (batch: string) => Promise<Failure | undefined> | Failure | undefined;
}

/**
 * Starts a proxy to the shared signer, whose `fail` may replace responses. The test's end stops it.
 */
export async function startSignerProxy(t: ExecutionContext): Promise<SignerProxy> {
  const directory = await mkdtemp('/tmp/probatio-proxy-');
  const socketPath = path.join(directory, 'signer.sock');
  let batches = 0;
  const proxy: SignerProxy = {
    socketPath,
    get batches() {
      return batches;
    },
    fail: () => undefined,
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const isBatch = request.url === '/v1/seal';
    if (isBatch) batches += 1;
    const failure = isBatch ? await proxy.fail(body) : undefined;
    if (failure === 'cut') request.socket.destroy();
    else if (failure !== undefined) response.writeHead(failure.status).end(failure.text);
    else await forward(request, body, response);
  }
  const server = createServer((request, response) => {
    serve(request, response).catch(() => request.socket.destroy());
  });
  await once(server.listen(socketPath), 'listening');
  t.teardown(async () => {
    server.close();
    server.closeAllConnections();
    await rm(directory, { recursive: true });
  });
  return proxy;
}

async function forward({ method, url }: IncomingMessage, body: string, response: ServerResponse) {
  const { signerSocketPath: socketPath } = testStack();
  const headers = body === '' ? {} : { 'content-type': 'application/json' };
  const onward = send({ socketPath, method, path: url, headers }).end(body);
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  response.writeHead(answer.statusCode ?? 502, answer.headers).end(await text(answer));
}
