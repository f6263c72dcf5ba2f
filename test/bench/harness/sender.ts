import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

/** An HTTP request. */
export interface Message {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer | undefined;
}

export interface Answer {
  readonly status: number;
  /** The JSON of the response; empty if it has none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** Sends a message. Throws for an answer that is no success. */
export type Ask = (message: Message) => Promise<Answer>;

export interface Sender {
  readonly ask: Ask;
  readonly close: () => void;
}

/**
 * Sends messages on connections that it keeps. Unlike fetch, it takes little of the processor time
 * that a bench shares with the server.
 */
export function createSender(baseUrl: string): Sender {
  const agent = new Agent({ keepAlive: true });
  return {
    async ask({ method, path, headers, body }) {
      const length = body === undefined ? {} : { 'content-length': body.length };
      const outgoing = request(baseUrl + path, {
        agent,
        method,
        headers: { ...headers, ...length },
      }).end(body);
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      const json = await text(response);
      const status = response.statusCode ?? 0;
      if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${json}`);
      return { status, body: json === '' ? {} : (JSON.parse(json) as Answer['body']) };
    },
    close: () => agent.destroy(),
  };
}

/** Returns a message with a JSON body. */
export function jsonMessage(
  method: string,
  path: string,
  json: unknown,
  headers: Message['headers'] = {},
): Message {
  return {
    method,
    path,
    headers: { ...headers, 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(json)),
  };
}
