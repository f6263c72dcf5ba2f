import { STATUS_CODES } from 'node:http';
import type { ExecutionContext } from 'ava';
import { z } from 'zod';

/** The body of every error response (contract, "Common"). */
const ErrorBody = z.looseObject({
  statusCode: z.int(),
  message: z.string().min(1),
  error: z.string(),
  timestamp: z.iso.datetime({ precision: 3 }),
  path: z.string(),
  code: z.string().regex(/^[a-z]+(_[a-z]+)*$/),
  requestId: z.string().regex(/^[\w.-]{1,128}$/),
  details: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
});

export type ErrorBody = z.output<typeof ErrorBody>;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Asserts that a response has the contract's error body for this status and code, and returns it.
 */
export function assertError(
  t: ExecutionContext,
  answer: Answer,
  { status, code }: { readonly status: number; readonly code: string },
  label?: string,
): ErrorBody {
  t.is(answer.status, status, `${label ?? ''}: ${answer.text}`);
  const body = ErrorBody.parse(JSON.parse(answer.text));
  t.is(body.code, code, label);
  t.is(body.statusCode, status, label);
  t.is(body.error, STATUS_CODES[status] ?? '', label);
  t.is(body.requestId, answer.headers.get('x-request-id') ?? '', label);
  t.is(answer.headers.get('content-type'), 'application/json; charset=utf-8', label);
  t.is(answer.headers.get('cache-control'), 'no-store', label);
  if (status === 401)
    t.regex(answer.headers.get('www-authenticate') ?? '', /^Bearer error="/, label);
  if (status === 503 || status === 429)
    t.regex(answer.headers.get('retry-after') ?? '', /^[0-9]+$/, label);
  assertSecurityHeaders(t, answer.headers, label);
  return body;
}

/** Asserts the security headers that every response has. */
export function assertSecurityHeaders(t: ExecutionContext, headers: Headers, label?: string): void {
  const expected = {
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  };
  const actual = Object.fromEntries(Object.keys(expected).map((name) => [name, headers.get(name)]));
  t.deepEqual(actual, expected, label);
}
