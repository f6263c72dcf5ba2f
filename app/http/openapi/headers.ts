import { z } from 'zod';
import { EventStream } from '../responses/event-stream.ts';
import { IdempotencyKey, replayedHeader } from '../routing/idempotency.ts';
import { EventHeaders, RangeHeaders } from './stream.ts';
import type { Route } from '../routing/route.ts';
import { StreamedAnswer } from '../responses/streamed-answer.ts';

const idempotencyKey = IdempotencyKey.optional().meta({
  description:
    'If the same request was sent under this key within 24 hours, its stored response is ' +
    'returned, and the request is not carried out again.',
});

const ifMatch = z.string().optional().meta({
  description: 'The ETag of the state to change. Required if the resource already exists.',
});

const contentDigest = z.string().optional().meta({
  description: 'The digest of the body (RFC 9530); only `sha-256` is verified.',
});

const replayed = z.literal('true').optional().meta({
  description: 'The response was stored by an earlier request with the same Idempotency-Key.',
});

const link = z.string().optional().meta({
  description: 'The URL of the next page, as `<…>; rel="next"`; absent on the last page.',
});

/** Returns the headers of a request, except those that authenticate the caller. */
export function requestHeaders(route: Route): { header?: z.ZodObject } {
  if (route.response === StreamedAnswer) return { header: RangeHeaders };
  if (route.response === EventStream) return { header: EventHeaders };
  const header = {
    ...(route.idempotent === true ? { 'Idempotency-Key': idempotencyKey } : {}),
    ...(route.errors.includes('precondition_required') ? { 'If-Match': ifMatch } : {}),
    ...(route.streamsBody === true ? { 'Content-Digest': contentDigest } : {}),
  };
  return Object.keys(header).length === 0 ? {} : { header: z.object(header) };
}

/** Returns the headers of a JSON response. */
export function answerHeaders(route: Route): { headers?: z.ZodObject } {
  const isPaged = route.query instanceof z.ZodObject && 'cursor' in route.query.shape;
  const headers = {
    ...(route.idempotent === true ? { [replayedHeader]: replayed } : {}),
    ...(route.hasETag === true ? { ETag: z.string() } : {}),
    ...(isPaged ? { Link: link } : {}),
  };
  return Object.keys(headers).length === 0 ? {} : { headers: z.object(headers) };
}
