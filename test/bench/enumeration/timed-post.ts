import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** One response with everything by which an observer could tell it from another. */
export interface TimedAnswer {
  readonly ms: number;
  readonly body: Record<string, unknown>;
  /** Status, header names, length, and the names and lengths of the body's fields. */
  readonly shape: string;
}

export interface TimedPost {
  post(path: string, body: object): Promise<TimedAnswer>;
  close(): void;
}

/**
 * Creates a client with one connection and one request at a time: the least noise an attacker can
 * have.
 */
export function createTimedPost(baseUrl: string): TimedPost {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return {
    async post(path, body) {
      const payload = JSON.stringify(body);
      const startedAt = performance.now();
      const outgoing = request(baseUrl + path, {
        agent,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': payload.length },
      }).end(payload);
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      const answer = await text(response);
      const ms = performance.now() - startedAt;
      const parsed = JSON.parse(answer) as Record<string, unknown>;
      return { ms, body: parsed, shape: shapeOf(response, parsed) };
    },
    close: () => agent.destroy(),
  };
}

function shapeOf({ statusCode, headers }: IncomingMessage, body: Record<string, unknown>): string {
  const fields = Object.entries(body).map(([name, value]) => `${name}:${String(value).length}`);
  const length = headers['content-length'] ?? '';
  return [statusCode, length, Object.keys(headers).join(','), fields.join(',')].join(' ');
}
