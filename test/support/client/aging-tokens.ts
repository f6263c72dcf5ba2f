import { decodeJwt } from 'jose';
import type { TrustedKey } from '../accounts/trusted-key.ts';

/**
 * A fetch that sends real requests, but replaces the tokens that a test expired by expired ones.
 */
export interface AgingTokens {
  readonly fetch: typeof globalThis.fetch;
  /** Expires every token sent so far. */
  expireAll(): void;
  /** Expires every token, including all future ones. */
  expireForever(): void;
}

/**
 * Simulates the passing of 15 minutes: an expired token has the same claims with times 30 minutes
 * earlier, and the vault itself refuses it.
 * @param fetch Sends the requests in place of the global fetch.
 */
export function agingTokens(key: TrustedKey, fetch = globalThis.fetch): AgingTokens {
  const sent = new Set<string>();
  const expired = new Set<string>();
  let all = false;
  return {
    async fetch(input, init) {
      const headers = new Headers(init?.headers);
      const token = headers.get('authorization')?.replace('Bearer ', '');
      if (token !== undefined) {
        sent.add(token);
        if (all || expired.has(token))
          headers.set('authorization', `Bearer ${await age(key, token)}`);
      }
      return fetch(input, { ...init, headers });
    },
    expireAll() {
      for (const token of sent) expired.add(token);
    },
    expireForever() {
      all = true;
    },
  };
}

function age(key: TrustedKey, token: string): Promise<string> {
  const { iat = 0, exp = 0, ...claims } = decodeJwt(token);
  return key.sign({ ...claims, iat: iat - 2 * 900, exp: exp - 2 * 900 });
}
