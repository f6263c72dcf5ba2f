import type { Reply } from '../requests/request.ts';

type Parameter = string | number | Date | undefined;

/**
 * Sets the Link header (RFC 8288) to the next page: the same query with `cursor`, relative to the
 * URL of the request, whose path a gateway or an alias may have changed. Does nothing if `cursor`
 * is undefined.
 */
export function linkNextPage(
  reply: Reply,
  query: Readonly<Record<string, Parameter>>,
  cursor: string | number | undefined,
): void {
  if (cursor === undefined) return;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries<Parameter>({ ...query, cursor })) {
    if (value === undefined) continue;
    parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  reply.set('Link', `<?${parameters.toString()}>; rel="next"`);
}
