import { hash } from 'node:crypto';

interface Verified<Claims> {
  readonly claims: Claims;
  readonly validUntil: Date;
}

/**
 * Creates a cache of the claims of tokens whose signatures were verified: an RSA verification costs
 * more than everything else that admits a request. Tokens are kept as digests only. Callers MUST
 * still check that the token's key still serves tokens and that the token's session is not revoked.
 * @param capacity how many tokens are kept.
 */
export function createVerifiedTokens<Claims>(capacity: number) {
  const known = new Map<string, Verified<Claims>>();
  return {
    /** Returns the claims of a token; undefined if it is unknown or has expired. */
    find(token: string, now: Date): Claims | undefined {
      const entry = known.get(digestOf(token));
      return entry !== undefined && now < entry.validUntil ? entry.claims : undefined;
    },

    /** Adds a verified token. Evicts the oldest token if the cache is over its capacity. */
    add(token: string, claims: Claims, validUntil: Date): void {
      known.set(digestOf(token), { claims, validUntil });
      const [oldest] = known.keys();
      if (known.size > capacity && oldest !== undefined) known.delete(oldest);
    },
  };
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64url');
}
