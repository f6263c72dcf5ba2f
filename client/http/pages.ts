import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import { parseAnswer, type Http } from './http.ts';
import type { HttpRequest } from './request.ts';

const placeholderBase = 'http://base.invalid';

/** Yields every item of a list, page after page (`Link: <…>; rel="next"`, RFC 8288). */
export function listPages<T>(
  http: Http,
  item: z.ZodType<T>,
  path: string,
  limit?: number,
): AsyncGenerator<T, void, void> {
  return readPages(http, item, { method: 'GET', path }, limit);
}

/**
 * Yields every item of a list that any request fetches. The request is sent again, with the next
 * cursor, for each page.
 */
export async function* readPages<T>(
  http: Http,
  item: z.ZodType<T>,
  request: HttpRequest,
  limit?: number,
): AsyncGenerator<T, void, void> {
  const query = { ...request.query, limit };
  for await (const body of readBodies(http, { ...request, query })) {
    yield* parseAnswer(z.array(item), body);
  }
}

/**
 * Yields the body of each page, for lists that are not plain arrays. Throws invalid_response if the
 * pages form a cycle.
 */
export async function* readBodies(
  http: Pick<Http, 'send'>,
  request: HttpRequest,
): AsyncGenerator<unknown, void, void> {
  const seen = new Set<string>();
  let cursor: string | undefined;
  for (;;) {
    const { headers, body } = await http.send({ ...request, query: { ...request.query, cursor } });
    yield body;
    cursor = nextCursor(headers.get('link'));
    if (cursor === undefined) return;
    if (seen.has(cursor)) throw new ClientError('invalid_response');
    seen.add(cursor);
  }
}

/**
 * Returns the cursor of the link to the next page. Returns undefined if there is no next page. The
 * rest of the link is ignored, so that the access token is sent to no other host.
 */
export function nextCursor(link: string | null): string | undefined {
  for (const [, target = '', parameters = ''] of (link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    if (!/;\s*rel\s*=\s*"?next"?\s*(?:[;,]|$)/i.test(parameters)) continue;
    return new URL(target, placeholderBase).searchParams.get('cursor') ?? undefined;
  }
  return undefined;
}
