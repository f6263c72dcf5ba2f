import canonicalize from 'canonicalize';

/** The RFC 8785 text of a JSON value. */
export function canonicalText(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('only JSON has a canonical form');
  return text;
}
