import canonicalize from 'canonicalize';

/** Returns the canonical text (RFC 8785) of a JSON value. Throws for a value that is not JSON. */
export function canonicalText(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('a value that is not JSON has no canonical form');
  return text;
}
