import { z } from 'zod';

const ErrorBody = z.looseObject({
  message: z.string(),
  code: z.string(),
  requestId: z.string().optional(),
  details: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});

/** An answer of the vault that is no success. */
export class VaultError extends Error {
  override readonly name = 'VaultError';
  readonly status: number;
  /** Stable; `http_<status>` if the answer came from something before the vault. */
  readonly code: string;
  readonly requestId: string | undefined;
  readonly details: readonly { readonly path: string; readonly message: string }[];
  readonly retryAfterSeconds: number | undefined;
  /** Further members of the body, such as `proofId`. */
  readonly body: Readonly<Record<string, unknown>>;

  constructor(status: number, headers: Headers, body: unknown, now: Date) {
    const parsed = ErrorBody.safeParse(body).data;
    super(parsed?.message ?? `The server answered ${status}.`);
    this.status = status;
    this.code = parsed?.code ?? `http_${status}`;
    this.requestId = parsed?.requestId ?? headers.get('x-request-id') ?? undefined;
    this.details = parsed?.details ?? [];
    this.retryAfterSeconds = parseRetryAfter(headers.get('retry-after'), now);
    this.body = parsed ?? {};
  }
}

/** Whether the vault answered with this code. */
export function hasCode(error: unknown, code: string): error is VaultError {
  return error instanceof VaultError && error.code === code;
}

/** Seconds or a date (RFC 9110 §10.2.3). */
function parseRetryAfter(value: string | null, now: Date): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value);
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - now.getTime()) / 1000);
}
