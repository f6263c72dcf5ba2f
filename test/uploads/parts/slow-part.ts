import { once } from 'node:events';
import {
  request,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { json } from 'node:stream/consumers';
import type { TestVault } from '../../support/vault/vault.ts';
import type { Api } from '../../support/documents/uploads.ts';

/** The request of a part whose body the test writes when and as far as it wants. */
export interface SlowPart {
  readonly request: ClientRequest;
  /** Rejects if the connection breaks first. */
  readonly answer: Promise<{
    status: number;
    headers: IncomingMessage['headers'];
    body: Record<string, unknown>;
  }>;
}

export function startPart(
  vault: TestVault,
  api: Api,
  path: string,
  headers: OutgoingHttpHeaders,
  baseUrl = vault.baseUrl,
): SlowPart {
  const outgoing = request(baseUrl + path, {
    method: 'PUT',
    headers: { authorization: `Bearer ${api.token}`, ...headers },
  });
  const answer = (async () => {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const body = (await json(response)) as Record<string, unknown>;
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  })();
  outgoing.on('error', () => undefined);
  // Who broke the connection does not wait for the answer.
  answer.catch(() => undefined);
  outgoing.flushHeaders();
  return { request: outgoing, answer };
}
