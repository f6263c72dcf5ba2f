import type { IncomingHttpHeaders } from 'node:http';
import { AppError } from '../../errors/app-error.ts';
import { parseIfMatch } from '../../http/answers/precondition.ts';
import { parseRange, type FileRange } from './range.ts';

/** The request for a file, as far as it says which bytes are wanted. */
interface FileRequest {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** What a request wants: nothing it does not have already, all, one range, or what is beyond the end. */
type Wanted = 'nothing' | 'all' | FileRange | 'beyond';

/**
 * The conditions of RFC 9110 §13.2.2, in their order. `etag` is strong.
 * Throws precondition_failed, or invalid_request for entity tags that are none.
 */
export function evaluate({ method, headers }: FileRequest, etag: string, size: number): Wanted {
  const ifMatch = parseIfMatch(headers['if-match']) ?? '*';
  if (ifMatch !== '*' && !ifMatch.includes(etag)) throw new AppError('precondition_failed');
  const known = parseIfMatch(headers['if-none-match']) ?? [];
  if (known === '*' || known.some((tag) => tag.replace(/^W\//, '') === etag)) return 'nothing';
  // Ranges are of GET alone (§14.2), and a date tells nothing about the bytes.
  const ifRange = headers['if-range'] ?? etag;
  if (method !== 'GET' || ifRange !== etag) return 'all';
  return parseRange(headers.range, size) ?? 'all';
}
