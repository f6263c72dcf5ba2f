import type { Bytes } from '../bytes/bytes.ts';

const defaultTimeoutSeconds = 60;

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the base URL, with a leading slash. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly bytes?: Bytes;
  /**
   * Whether sending the request twice does no harm. By default true for every method but POST, and
   * for POST with an idempotency key.
   */
  readonly repeatable?: boolean;
  /**
   * Identifies the operation: the vault carries it out once, however often a request with this key
   * is sent.
   */
  readonly idempotencyKey?: string;
  /**
   * Timeout for the whole response; for a streamed response, timeout for its beginning and for each
   * piece.
   */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal | undefined;
}

export function timeoutSecondsOf({ timeoutSeconds = defaultTimeoutSeconds }: HttpRequest): number {
  return timeoutSeconds;
}

/** Returns whether sending the request twice does no harm. */
export function isRepeatable({ method, idempotencyKey, repeatable }: HttpRequest): boolean {
  return repeatable ?? (method !== 'POST' || idempotencyKey !== undefined);
}

/**
 * Returns the options of `fetch`. Redirects are refused, so that the token is sent only to the base
 * URL.
 */
export function toFetch(request: HttpRequest): RequestInit {
  return {
    method: request.method,
    headers: toHeaders(request),
    body: request.bytes ?? (request.json === undefined ? null : JSON.stringify(request.json)),
    redirect: 'error',
    credentials: 'omit',
    cache: 'no-store',
  };
}

export function toUrl(baseUrl: string, { path, query = {} }: HttpRequest): URL {
  const url = new URL(baseUrl.replace(/\/$/, '') + path);
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

function toHeaders({ headers, idempotencyKey, json, bytes }: HttpRequest): Headers {
  const result = new Headers({ accept: 'application/json', ...headers });
  if (idempotencyKey !== undefined) result.set('idempotency-key', idempotencyKey);
  if (json !== undefined) result.set('content-type', 'application/json');
  if (bytes !== undefined) result.set('content-type', 'application/octet-stream');
  return result;
}
