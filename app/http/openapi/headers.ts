import { z } from 'zod';
import { describedAs } from '../bodies/wire.ts';

/** Headers of requests. */
export const requestId = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,128}$/)
  .optional()
  .meta({
    description: 'Names the request in logs. Default: an id that the service makes.',
    param: { id: 'RequestId' },
  });

export const idempotencyKey = z
  .string()
  .regex(/^[!-~]{1,255}$/)
  .optional()
  .meta({
    description:
      'If the same request was sent under this key within 24 hours, its stored response is ' +
      'returned, and the request is not carried out again. 1 to 255 visible ASCII characters.',
    param: { id: 'IdempotencyKey' },
  });

export const ifMatch = z
  .string()
  .optional()
  .meta({
    description: 'The ETag of the state to change. Required if the resource already exists.',
    param: { id: 'IfMatch' },
  });

export const optionalIfMatch = z
  .string()
  .optional()
  .meta({
    description: 'The ETag of the state to change. Default: whatever the state is.',
    param: { id: 'OptionalIfMatch' },
  });

export const contentDigest = z
  .string()
  .optional()
  .meta({
    description: 'The digest of the body (RFC 9530); only `sha-256` is verified.',
    param: { id: 'ContentDigest' },
  });

/** Headers of responses. */
export const answeredRequestId = z
  .string()
  .regex(/^[A-Za-z0-9_.-]{1,128}$/)
  .meta({
    description: 'The X-Request-Id of the request, or the id that the service made.',
    header: { id: 'RequestId' },
  });

export const replayed = z
  .literal('true')
  .optional()
  .meta({
    description: 'The response was stored by an earlier request with the same Idempotency-Key.',
    header: { id: 'IdempotencyReplayed' },
  });

export const link = z
  .string()
  .optional()
  .meta({
    description:
      'The next page as `<…>; rel="next"` (RFC 8288), relative to the URL of the request; absent ' +
      'on the last page.',
    header: { id: 'Link' },
  });

export const entityTag = z.string().meta({
  description: 'Names this state of the resource, for If-Match.',
  header: { id: 'ETag' },
});

const seconds = describedAs({ type: 'integer', minimum: 0 });
const retryAfterText = 'Seconds after which the same request may succeed.';

export const retryAfter = z
  .string()
  .meta({ description: retryAfterText, ...seconds, header: { id: 'RetryAfter' } });

export const retryAfterIfPassing = z
  .string()
  .optional()
  .meta({ description: retryAfterText, ...seconds, header: { id: 'RetryAfterIfPassing' } });

export const wwwAuthenticate = z.string().meta({
  description: 'How to authenticate: `Bearer` with an error code (RFC 6750).',
  header: { id: 'WWWAuthenticate' },
});

export const wholeLength = z.string().meta({
  description: 'The size of the file: `bytes */<size>`.',
  header: { id: 'ContentRangeOfRefusal' },
});
