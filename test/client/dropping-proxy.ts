import type { ExecutionContext } from 'ava';
import { once } from 'node:events';
import {
  createServer,
  request as send,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** Tells whether to drop a request, given as method and path such as `POST /v1/uploads`. */
type Drops = (what: string) => boolean;

interface DroppingProxy {
  readonly url: string;
  /** Dropped requests, as method and path, in order. */
  readonly lost: readonly string[];
}

/**
 * Starts a proxy to the vault for short requests. It breaks the connection instead of responding to
 * a request that `losesAnswer` matches, which the vault has processed, and instead of passing on a
 * request that `losesRequest` matches, as a server does that has just closed the connection. The
 * test's end stops it.
 */
export async function startDroppingProxy(
  t: ExecutionContext,
  vaultUrl: string,
  { losesAnswer = never, losesRequest = never }: { losesAnswer?: Drops; losesRequest?: Drops },
): Promise<DroppingProxy> {
  const lost: string[] = [];
  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const what = `${request.method} ${request.url}`;
    if (losesRequest(what)) {
      lost.push(what);
      request.socket.destroy();
      return;
    }
    try {
      const { status, headers, body } = await forward(request, vaultUrl);
      if (losesAnswer(what)) {
        lost.push(what);
        response.destroy();
      } else response.writeHead(status, headers).end(body);
    } catch {
      response.destroy();
    }
  }
  const server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    void serve(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, lost };
}

async function forward(request: IncomingMessage, vaultUrl: string) {
  const { method, headers, url = '/' } = request;
  const onward = request.pipe(send(new URL(url, vaultUrl), { method, headers }));
  const [answer] = (await once(onward, 'response')) as [IncomingMessage];
  return { status: answer.statusCode ?? 502, headers: answer.headers, body: await text(answer) };
}

const never: Drops = () => false;

/** Matches each distinct request once, so that its repetition arrives. */
export function firstOf(pattern: RegExp): Drops {
  const seen = new Set<string>();
  return (what) => {
    if (!pattern.test(what) || seen.has(what)) return false;
    seen.add(what);
    return true;
  };
}
