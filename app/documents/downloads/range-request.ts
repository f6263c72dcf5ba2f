import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../errors/app-error.ts';
import { parseIfMatch } from '../../http/responses/precondition.ts';

/** The method and headers of a request for a file, which determine the bytes to send. */
export interface FileRequest {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** Offsets in bytes, both inclusive and within the file. */
export interface FileRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The part of a file to send: `nothing` if the client already has the file, `all`, one range, or
 * `beyond` if the requested range starts past the end of the file.
 */
export type Wanted = 'nothing' | 'all' | FileRange | 'beyond';

/** Returns the entity tag of a file with this hash: the tag names its bytes. */
export function etagFor(hash: string): string {
  return `"${hash}"`;
}

/**
 * Evaluates the conditional headers of a download in the order of RFC 9110 §13.2.2, and returns the
 * part of the file to send. `etag` must be a strong entity tag. Throws precondition_failed, or
 * invalid_request for malformed entity tags.
 */
export function evaluate({ method, headers }: FileRequest, etag: string, size: number): Wanted {
  const ifMatch = parseIfMatch(headers['if-match']) ?? '*';
  if (ifMatch !== '*' && !ifMatch.includes(etag)) throw new AppError('precondition_failed');
  const known = parseIfMatch(headers['if-none-match']) ?? [];
  if (known === '*' || known.some((tag) => tag.replace(/^W\//, '') === etag)) return 'nothing';
  // Ranges apply only to GET (§14.2). A date in If-Range never matches: only the ETag identifies
  // the bytes.
  const ifRange = headers['if-range'] ?? etag;
  if (method !== 'GET' || ifRange !== etag) return 'all';
  return parseRange(headers.range, size) ?? 'all';
}

/** Returns whether a response has bytes of the file, so that it is a download. */
export function isSent({ method }: FileRequest, wanted: Wanted): wanted is 'all' | FileRange {
  return method === 'GET' && wanted !== 'nothing' && wanted !== 'beyond';
}

/**
 * Parses a Range header for a file of `size` bytes (RFC 9110 §14.2). Returns `beyond` if the range
 * starts past the end of the file. Returns undefined if the header must be ignored because it is
 * absent or malformed, or names several ranges or another unit than bytes.
 */
export function parseRange(
  header: string | undefined,
  size: number,
): FileRange | 'beyond' | undefined {
  const [, from = '', to = ''] = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '') ?? [];
  if (from === '' && to === '') return undefined;
  if (from !== '' && to !== '' && Number(to) < Number(from)) return undefined;
  const end = size - 1;
  const first = from === '' ? Math.max(size - Number(to), 0) : Number(from);
  const last = from === '' || to === '' ? end : Math.min(Number(to), end);
  return first > end ? 'beyond' : { first, last };
}
