import { parseAnswer, type Http } from '../http/http.ts';
import type { HttpRequest } from '../http/request.ts';
import { VaultError } from '../errors/vault-error.ts';
import type { SessionTokens } from './tokens.ts';

/** What the vault says of a token that it takes no more, before it does anything. */
const refusalCodes = new Set(['token_expired', 'invalid_token']);

/**
 * Requests in a session's name. One whose token is refused is sent once more with a new one.
 * Throws session_ended beside what `Http` throws.
 */
export function createSessionHttp({ http, tokens }: { http: Http; tokens: SessionTokens }): Http {
  async function withRenewal<T>(
    request: HttpRequest,
    operation: (request: HttpRequest) => Promise<T>,
  ): Promise<T> {
    const token = await tokens.current();
    try {
      return await operation(withToken(request, token));
    } catch (error) {
      if (!(error instanceof VaultError) || !refusalCodes.has(error.code)) throw error;
      return operation(withToken(request, await tokens.renew(token)));
    }
  }

  const send = (request: HttpRequest) => withRenewal(request, (renewed) => http.send(renewed));

  return {
    send,
    open: (request) => withRenewal(request, (renewed) => http.open(renewed)),
    async json(schema, request) {
      return parseAnswer(schema, (await send(request)).body);
    },
  };
}

function withToken(request: HttpRequest, token: string): HttpRequest {
  return { ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } };
}
