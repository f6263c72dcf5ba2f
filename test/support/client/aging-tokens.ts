import { decodeJwt } from 'jose';
import type { TrustedKey } from '../accounts/trusted-key.ts';

/** Sends for real, but a token that the test lets grow old is sent as one that has expired. */
export interface AgingTokens {
  readonly fetch: typeof globalThis.fetch;
  /** Every token sent so far expires. */
  expireAll(): void;
  /** So does every token to come. */
  expireForever(): void;
}

/**
 * What 15 minutes do: the vault itself refuses the same claims, 15 minutes older.
 * @param fetch sends the requests in place of the real one.
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
