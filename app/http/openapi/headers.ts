import { z } from 'zod';
import { EventStream } from '../answers/event-stream.ts';
import { IdempotencyKey, replayedHeader } from '../routing/idempotency.ts';
import { EventHeaders, RangeHeaders } from './stream.ts';
import type { Route } from '../routing/route.ts';
import { StreamedAnswer } from '../answers/streamed-answer.ts';

const idempotencyKey = IdempotencyKey.optional().meta({
  description:
    'The same request under the same key within 24 hours is answered again, not done again.',
});

const ifMatch = z.string().optional().meta({
  description: 'The ETag of the state that is to change. Needed wherever there is one already.',
});

const contentDigest = z.string().optional().meta({
  description: 'RFC 9530; the `sha-256` of the body is compared.',
});

const replayed = z.literal('true').optional().meta({
  description: 'The answer was given before, to the same request under the same key.',
});

const link = z.string().optional().meta({
  description: 'The next page, as `<…>; rel="next"`; absent after the last one.',
});

/** What a request may say in headers beside who calls. */
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

/** What a JSON answer says in headers. */
export function answerHeaders(route: Route): { headers?: z.ZodObject } {
  const isPaged = route.query instanceof z.ZodObject && 'cursor' in route.query.shape;
  const headers = {
    ...(route.idempotent === true ? { [replayedHeader]: replayed } : {}),
    ...(route.hasETag === true ? { ETag: z.string() } : {}),
    ...(isPaged ? { Link: link } : {}),
  };
  return Object.keys(headers).length === 0 ? {} : { headers: z.object(headers) };
}
