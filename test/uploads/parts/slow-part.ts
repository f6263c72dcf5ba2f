import { once } from 'node:events';
import {
  request,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
} from 'node:http';
import { json } from 'node:stream/consumers';
import type { Vault } from '../../support/vault/vault.ts';
import type { Api } from '../../support/documents/uploads.ts';

/** A request that sends a part, whose body the test writes at its own pace. */
export interface SlowPart {
  readonly request: ClientRequest;
  /** Rejects if the connection breaks before the response. */
  readonly answer: Promise<{
    readonly status: number;
    readonly headers: IncomingMessage['headers'];
    readonly body: Record<string, unknown>;
  }>;
}

export function startPart(
  vault: Vault,
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
  // A test that breaks the connection does not wait for the response.
  answer.catch(() => undefined);
  outgoing.flushHeaders();
  return { request: outgoing, answer };
}
