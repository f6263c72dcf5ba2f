import type { z } from 'zod';
import type { ErrorCode } from '../../errors/error-codes.ts';

type Headers = Readonly<Record<string, z.ZodType>>;

/**
 * An addition of a layer around a route, such as a guard, to its description in the API document. A
 * guard that wraps a route adds to its `contributions`; those of the HTTP layer itself are in
 * app/http/openapi/contributions.ts.
 */
export interface Contribution {
  /** Headers of requests. A header is required unless its schema is optional. */
  readonly requestHeaders?: Headers;
  /** Headers of successful responses. */
  readonly answerHeaders?: Headers;
  /** Headers of error responses by their code. */
  readonly errorHeaders?: Readonly<Partial<Record<ErrorCode, Headers>>>;
  /** Headers that any error response may have, but those of errors before this layer. */
  readonly failureHeaders?: Headers;
  readonly errors?: readonly ErrorCode[];
  /** A sentence for the description of the operation. */
  readonly note?: string;
}
