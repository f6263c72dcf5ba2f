import type { Reply } from '../requests/request.ts';

type Parameter = string | number | Date | undefined;

/**
 * Tells where a list goes on, if it does: the same question from `cursor` on (RFC 8288).
 * @param path of the list, from the root.
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
