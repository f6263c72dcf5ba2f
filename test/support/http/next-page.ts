/**
 * Returns the path and query of the next page of a list, resolved against the path of this page as
 * RFC 8288 demands; undefined on the last page.
 */
export function nextPage(path: string, headers: Headers): string | undefined {
  const target = /^<([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1];
  if (target === undefined) return undefined;
  const { pathname, search } = new URL(target, new URL(path, 'http://vault.test'));
  return `${pathname}${search}`;
}
