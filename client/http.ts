import type { z } from 'zod';
import type { Bytes } from './bytes.ts';
import { ClientError } from './client-error.ts';
import { withRetries } from './retry.ts';
import type { RetryPolicy } from './retry.ts';
import { VaultError } from './vault-error.ts';

const DEFAULT_TIMEOUT_SECONDS = 60;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Beneath the base URL, with a leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly bytes?: Bytes;
  /** Whether sending it twice does no harm; by default every method but POST. */
  readonly repeatable?: boolean;
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface HttpAnswer {
  readonly headers: Headers;
  /** Parsed JSON, undefined if the answer has no body. */
  readonly body: unknown;
}

/**
 * Throws VaultError for an answer that is no success, ClientError network_error for none at all and
 * invalid_response for one that cannot be read, and the signal's reason if it is aborted.
 */
export interface Http {
  send(request: HttpRequest): Promise<HttpAnswer>;
  json<T>(schema: z.ZodType<T>, request: HttpRequest): Promise<T>;
}

export interface HttpOptions {
  readonly baseUrl: string;
  readonly fetch: typeof globalThis.fetch;
  readonly retry: RetryPolicy;
  readonly now: () => Date;
}

export function createHttp({ baseUrl, fetch, retry, now }: HttpOptions): Http {
  async function exchange(request: HttpRequest): Promise<HttpAnswer> {
    const timeout = AbortSignal.timeout((request.timeoutSeconds ?? DEFAULT_TIMEOUT_SECONDS) * 1000);
    let response: Response;
    let text: string;
    try {
      response = await fetch(toUrl(baseUrl, request), {
        method: request.method,
        headers: toHeaders(request),
        body: request.bytes ?? (request.json === undefined ? null : JSON.stringify(request.json)),
        signal: request.signal ? AbortSignal.any([request.signal, timeout]) : timeout,
        redirect: 'error',
        credentials: 'omit',
        cache: 'no-store',
      });
      text = await response.text();
    } catch (cause) {
      request.signal?.throwIfAborted();
      throw new ClientError('network_error', { cause });
    }
    if (!response.ok)
      throw new VaultError(response.status, response.headers, readJson(text), now());
    return { headers: response.headers, body: text === '' ? undefined : parseJson(text) };
  }

  async function send(request: HttpRequest): Promise<HttpAnswer> {
    const repeatable = request.repeatable ?? request.method !== 'POST';
    if (!repeatable) return exchange(request);
    return withRetries(retry, request.signal, () => exchange(request));
  }

  return {
    send,
    async json(schema, request) {
      const { body } = await send(request);
      return parseAnswer(schema, body);
    },
  };
}

/** Throws invalid_response. */
export function parseAnswer<T>(schema: z.ZodType<T>, body: unknown): T {
  const { data, error } = schema.safeParse(body);
  if (error !== undefined) throw new ClientError('invalid_response', { cause: error });
  return data;
}

function toUrl(baseUrl: string, { path, query = {} }: HttpRequest): URL {
  const url = new URL(baseUrl.replace(/\/$/, '') + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function toHeaders({ headers, json, bytes }: HttpRequest): Headers {
  const result = new Headers({ accept: 'application/json', ...headers });
  if (json !== undefined) result.set('content-type', 'application/json');
  if (bytes !== undefined) result.set('content-type', 'application/octet-stream');
  return result;
}

/** Without a cause: it would quote the text, and a token with it. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ClientError('invalid_response');
  }
}

/** A proxy's error page is no JSON, and its status still counts. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
