import { z } from 'zod';

const ErrorBody = z.looseObject({
  message: z.string(),
  code: z.string(),
  requestId: z.string().optional(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

/**
 * A response of the vault with an error status. Program against `code`; the message is for people.
 */
export class VaultError extends Error {
  override readonly name = 'VaultError';
  /** The HTTP status. */
  readonly status: number;
  /**
   * The vault's stable error code; `http_<status>` if another server, such as a proxy, responded
   * instead.
   */
  readonly code: string;
  /** Id of the request in the vault's logs. */
  readonly requestId: string | undefined;
  /** Members of the request that failed validation. */
  readonly details: readonly { readonly path: string; readonly message: string }[];
  /** Seconds to wait according to the header Retry-After; undefined if it is missing or invalid. */
  readonly retryAfterSeconds: number | undefined;
  /**
   * All members of the response's body, such as `proofId`; empty if the body is not an error body
   * of the vault.
   */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, headers: Headers, body: unknown, now: Date) {
    const parsed = ErrorBody.safeParse(body).data;
    super(parsed?.message ?? `The server responded with status ${status}.`);
    this.status = status;
    this.code = parsed?.code ?? `http_${status}`;
    this.requestId = parsed?.requestId ?? headers.get('x-request-id') ?? undefined;
    this.details = parsed?.details ?? [];
    this.retryAfterSeconds = parseRetryAfter(headers.get('retry-after'), now);
    this.body = parsed ?? {};
  }
}

/** Returns whether the error is a response of the vault with this code. */
export function hasCode(error: unknown, code: string): error is VaultError {
  return error instanceof VaultError && error.code === code;
}

/** Parses Retry-After, which is seconds or a date (RFC 9110 §10.2.3), and returns seconds. */
function parseRetryAfter(value: string | null, now: Date): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now.getTime()) / 1000);
}
