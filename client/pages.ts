import { z } from 'zod';
import type { HttpRequest } from './http-request.ts';
import { parseAnswer } from './http.ts';
import type { Http } from './http.ts';

const BASE = 'http://base.invalid';

/** Every item of a list, page after page (`Link: <…>; rel="next"`, RFC 8288). */
export function listPages<T>(
  http: Http,
  item: z.ZodType<T>,
  path: string,
  limit?: number,
): AsyncGenerator<T, void, void> {
  return readPages(http, item, { method: 'GET', path }, limit);
}

/** The same of any request, which is sent again for each page. */
export async function* readPages<T>(
  http: Http,
  item: z.ZodType<T>,
  request: HttpRequest,
  limit?: number,
): AsyncGenerator<T, void, void> {
  let cursor: string | undefined;
  do {
    const { headers, body } = await http.send({ ...request, query: { limit, cursor } });
    yield* parseAnswer(z.array(item), body);
    cursor = nextCursor(headers.get('link'));
  } while (cursor !== undefined);
}

/** Only the cursor is taken from the link: the token must go to no other address. */
export function nextCursor(link: string | null): string | undefined {
  for (const [, target = '', parameters = ''] of (link ?? '').matchAll(/<([^>]*)>([^<]*)/g)) {
    if (!/;\s*rel\s*=\s*"?next"?\s*(?:[;,]|$)/i.test(parameters)) continue;
    return new URL(target, BASE).searchParams.get('cursor') ?? undefined;
  }
  return undefined;
}
