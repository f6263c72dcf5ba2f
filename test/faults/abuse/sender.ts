import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';

export interface SenderOptions {
  readonly baseUrl: string;
  /** Headers of every request, such as the access token. */
  readonly headers: Readonly<Record<string, string>>;
  /** The loopback address that the requests come from. */
  readonly from: string;
}

export interface Sent {
  readonly status: number;
  /** Milliseconds from the request to the last byte of the response. */
  readonly ms: number;
  /** The error code of a refusal; empty for a success. */
  readonly code: string;
}

export interface Sender extends Disposable {
  /** Rejects if the connection breaks. A body that is no text or buffer is sent as JSON. */
  send(method: string, path: string, options?: SendOptions): Promise<Sent>;
}

interface SendOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Creates a client whose connections come from one loopback address. */
export function createSender({ baseUrl, headers, from }: SenderOptions): Sender {
  const agent = new Agent({ keepAlive: true });
  return {
    async send(method, path, { body, headers: more } = {}) {
      const startedAt = performance.now();
      const isRaw = body === undefined || typeof body === 'string' || Buffer.isBuffer(body);
      const bytes = isRaw ? body : JSON.stringify(body);
      const outgoing = request(baseUrl + path, {
        agent,
        method,
        localAddress: from,
        headers: {
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(bytes === undefined ? {} : { 'content-length': Buffer.byteLength(bytes) }),
          ...headers,
          ...more,
        },
      });
      outgoing.end(bytes);
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      const status = response.statusCode ?? 0;
      if (status >= 400) {
        const { code } = (await json(response)) as { readonly code: string };
        return { status, code, ms: performance.now() - startedAt };
      }
      response.resume();
      await once(response, 'end');
      return { status, code: '', ms: performance.now() - startedAt };
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}
