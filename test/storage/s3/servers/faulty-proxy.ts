import { once } from 'node:events';
import {
  createServer,
  request as send,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** The fate of a request: the response as it is, another one, or a broken connection. */
export type Fault = 'none' | 'wrong bytes' | 'cut before' | 'cut within' | 'unavailable' | 'late';

export interface FaultyProxy extends AsyncDisposable {
  readonly url: string;
  /** Chooses the fault of each GET of an object from now on; by default none has one. */
  setFaults(choose: (path: string) => Fault): void;
}

/** Starts an HTTP proxy before an S3 server, which answers some GET requests wrongly or not. */
export async function startFaultyProxy(endpoint: string): Promise<FaultyProxy> {
  let choose: (path: string) => Fault = () => 'none';
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers, url = '/' } = request;
    const onward = send(new URL(url, endpoint), { method, headers });
    onward.end(await buffer(request));
    const [found] = await once(onward, 'response');
    const body = await buffer(found);
    const isOfObject = method === 'GET' && url.includes('x-id=GetObject');
    const fault = isOfObject ? choose(decodeURIComponent(url.split('?')[0] ?? '')) : 'none';
    await respond(response, fault, { status: found.statusCode, headers: found.headers, body });
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    setFaults(chooser) {
      choose = chooser;
    },
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

async function respond(
  response: ServerResponse,
  fault: Fault,
  { status, headers, body }: Answer,
): Promise<void> {
  switch (fault) {
    case 'cut before':
      response.destroy();
      return;
    case 'unavailable':
      response.writeHead(503, { 'content-type': 'text/html' }).end('<html>try later</html>');
      return;
    case 'cut within':
      response.writeHead(status, headers);
      response.write(body.subarray(0, body.length / 2), () => response.destroy());
      return;
    case 'wrong bytes':
      body[0] = (body[0] ?? 0) ^ 1;
      break;
    case 'late':
      await new Promise((resolve) => setTimeout(resolve, 300));
      break;
    case 'none':
  }
  response.writeHead(status, headers).end(body);
}
