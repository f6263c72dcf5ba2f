import type { z } from 'zod';
import type { Bytes } from '../bytes/bytes.ts';
import { readStream } from '../bytes/read-stream.ts';
import { ClientError } from '../errors/client-error.ts';
import { VaultError } from '../errors/vault-error.ts';
import { assertProtected } from './base-url.ts';
import { createPatience, type Patience } from './wait-limit.ts';
import { isRepeatable, timeoutSecondsOf, toFetch, toUrl, type HttpRequest } from './request.ts';
import { withRetries, type RetryPolicy } from './retry.ts';

export interface HttpAnswer {
  readonly headers: Headers;
  /** Parsed JSON; undefined if the response has no body. */
  readonly body: unknown;
}

/** A response whose body is read as a stream of bytes. */
export interface HttpStream {
  /** Status of the response, such as 200 or 206. */
  readonly status: number;
  /**
   * The pieces of the body, which can be iterated only once. The iteration throws network_error if
   * the response breaks off.
   */
  readonly pieces: AsyncIterable<Bytes>;
}

/**
 * Requests to the vault, retried if they are repeatable. Every method throws VaultError for a
 * response with an error status, ClientError network_error if there is no response and
 * invalid_response if the response cannot be parsed, and the signal's reason if it is aborted.
 */
export interface Http {
  /** Sends a request and reads the whole response. */
  send(request: HttpRequest): Promise<HttpAnswer>;
  /** Sends a request and parses the body of the response. */
  json<T>(schema: z.ZodType<T>, request: HttpRequest): Promise<T>;
  /** Sends a request and resolves once the response begins, before its body is read. */
  open(request: HttpRequest): Promise<HttpStream>;
}

export interface HttpOptions {
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  readonly retry: RetryPolicy;
  readonly now: () => Date;
}

/**
 * Creates the client's HTTP layer. Throws TypeError unless the base URL is absolute, and https or
 * loopback.
 */
export function createHttp({ baseUrl, fetch, retry, now }: HttpOptions): Http {
  assertProtected(baseUrl);

  function begin(request: HttpRequest, timeout: AbortSignal): Promise<Response> {
    const signal =
      request.signal === undefined ? timeout : AbortSignal.any([request.signal, timeout]);
    return fetch(toUrl(baseUrl, request), { ...toFetch(request), signal });
  }

  async function exchange(request: HttpRequest): Promise<HttpAnswer> {
    const timeout = AbortSignal.timeout(timeoutSecondsOf(request) * 1000);
    let response: Response;
    let text: string;
    try {
      response = await begin(request, timeout);
      text = await response.text();
    } catch (cause) {
      throw toFailure(request, cause);
    }
    if (!response.ok)
      throw new VaultError(response.status, response.headers, readJson(text), now());
    return { headers: response.headers, body: text === '' ? undefined : parseJson(text) };
  }

  async function open(request: HttpRequest): Promise<HttpStream> {
    const patience = createPatience(timeoutSecondsOf(request));
    let response: Response;
    let text: string;
    try {
      response = await patience.limit(begin(request, patience.signal));
      if (response.ok)
        return { status: response.status, pieces: readBody(request, response, patience) };
      text = await patience.limit(response.text());
    } catch (cause) {
      throw toFailure(request, cause);
    }
    throw new VaultError(response.status, response.headers, readJson(text), now());
  }

  function repeat<T>(
    request: HttpRequest,
    operation: (request: HttpRequest) => Promise<T>,
  ): Promise<T> {
    if (!isRepeatable(request)) return operation(request);
    return withRetries(retry, request.signal, () => operation(request));
  }

  const send = (request: HttpRequest) => repeat(request, exchange);

  return {
    send,
    open: (request) => repeat(request, open),
    async json(schema, request) {
      const { body } = await send(request);
      return parseAnswer(schema, body);
    },
  };
}

/** Parses the body of a response. Throws invalid_response. */
export function parseAnswer<T>(schema: z.ZodType<T>, body: unknown): T {
  const { data, error } = schema.safeParse(body);
  if (error !== undefined) throw new ClientError('invalid_response', { cause: error });
  return data;
}

async function* readBody(
  request: HttpRequest,
  { body }: Response,
  patience: Patience,
): AsyncGenerator<Bytes, void, void> {
  if (body === null) return;
  try {
    yield* readStream(body, patience.limit);
  } catch (cause) {
    throw toFailure(request, cause);
  }
}

/** Returns the signal's reason if the caller aborted, else network_error. */
function toFailure({ signal }: HttpRequest, cause: unknown): unknown {
  return signal?.aborted === true ? signal.reason : new ClientError('network_error', { cause });
}

/**
 * Parses JSON. Throws invalid_response without a cause, since a cause would quote the text, which
 * may contain a token.
 */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ClientError('invalid_response');
  }
}

/**
 * Parses the body of an error response. Returns undefined if it is not JSON, such as a proxy's
 * error page.
 */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
