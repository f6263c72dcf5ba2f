import { hash } from 'node:crypto';

/**
 * What tokens say whose signatures were verified already: an RSA verification costs more than all
 * else that lets a request in. By digest, so that no token stays in memory. Whether the key still
 * serves, and the session still lasts, is for the caller to look at.
 */
interface VerifiedTokens<Claims> {
  /** Undefined for a token that is not known, or has expired. */
  find(token: string, now: Date): Claims | undefined;
  /** The oldest gives way. */
  add(token: string, claims: Claims, validUntil: Date): void;
}

/** @param capacity how many tokens */
export function createVerifiedTokens<Claims>(capacity: number): VerifiedTokens<Claims> {
  const known = new Map<string, { claims: Claims; validUntil: Date }>();
  return {
    find(token, now) {
      const entry = known.get(digestOf(token));
      return entry !== undefined && now < entry.validUntil ? entry.claims : undefined;
    },
    add(token, claims, validUntil) {
      known.set(digestOf(token), { claims, validUntil });
      const [oldest] = known.keys();
      if (known.size > capacity && oldest !== undefined) known.delete(oldest);
    },
  };
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64url');
}
