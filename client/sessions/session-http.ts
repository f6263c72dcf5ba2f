import { parseAnswer, type Http } from '../http/http.ts';
import type { HttpRequest } from '../http/request.ts';
import { VaultError } from '../errors/vault-error.ts';
import type { SessionTokens } from './tokens.ts';

/**
 * Error codes with which the vault refuses an access token before it carries out anything of the
 * request.
 */
const refusalCodes = new Set(['token_expired', 'invalid_token']);

/**
 * Creates an `Http` that sends a session's access token. If the vault refuses the token, renews it
 * and sends the request once more. Methods throw session_ended and what `Http` throws.
 */
export function createSessionHttp({
  http,
  tokens,
}: {
  readonly http: Http;
  readonly tokens: SessionTokens;
}): Http {
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
