import type { Reply } from '../requests/request.ts';

type Parameter = string | number | Date | undefined;

/**
 * Sets the Link header (RFC 8288) to the URL of the next page: the same query with `cursor`. Does
 * nothing if `cursor` is undefined.
 * @param path absolute path of the list.
 */
export function linkNextPage(
  reply: Reply,
  path: string,
  query: Readonly<Record<string, Parameter>>,
  cursor: string | number | undefined,
): void {
  if (cursor === undefined) return;
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries<Parameter>({ ...query, cursor })) {
    if (value === undefined) continue;
    parameters.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  reply.set('Link', `<${path}?${parameters.toString()}>; rel="next"`);
}
