import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';

export interface TimedRead {
  readonly path: string;
  /** Sent by POST; without a body the request is a GET. */
  readonly body?: object;
}

export interface TimedAnswer {
  /** Milliseconds from the request to the last byte. */
  readonly ms: number;
  readonly items: number;
}

export interface TimedClient {
  /** Throws unless the response is a 200. */
  read(token: string, what: TimedRead): Promise<TimedAnswer>;
  close(): void;
}

/** Creates a client with one connection and one request at a time. */
export function createTimedClient(baseUrl: string): TimedClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    async read(token, { path, body }) {
      const startedAt = performance.now();
      const outgoing = request(baseUrl + path, {
        agent,
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          authorization: `Bearer ${token}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
      }).end(body === undefined ? undefined : JSON.stringify(body));
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      const answer = await json(response);
      const ms = performance.now() - startedAt;
      if (response.statusCode !== 200) throw new Error(`${path}: ${JSON.stringify(answer)}`);
      return { ms, items: Array.isArray(answer) ? answer.length : 1 };
    },
    close: () => agent.destroy(),
  };
}
