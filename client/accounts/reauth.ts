import { z } from 'zod';
import type { Http } from '../http/http.ts';
import { withRetries, type RetryPolicy } from '../http/retry.ts';
import { passwordMethod } from '../login/login-method.ts';
import { proveLogin } from '../login/login-proof.ts';
import type { Credentials } from './accounts.ts';

const Reauthenticated = z.object({ reauthToken: z.string(), expiresAt: z.iso.datetime() });
/** A reauthentication token, sent in the header X-Reauth-Token; valid for five minutes. */
export type Reauthenticated = z.output<typeof Reauthenticated>;

/**
 * Proves by SRP that the user of a login session knows the password, and resolves with a
 * reauthentication token. Throws VaultError invalid_proof (wrong password) or rate_limited.
 */
export function reauthenticate(
  { http, retry }: { readonly http: Http; readonly retry: RetryPolicy },
  { email, password }: Credentials,
): Promise<Reauthenticated> {
  // The vault accepts a login proof only once, so each retry begins with a new challenge.
  return withRetries(retry, undefined, async () => {
    const { evidence } = await proveLogin(http, {
      email,
      method: passwordMethod,
      secret: password,
    });
    return http.json(Reauthenticated, { method: 'POST', path: '/v1/auth/reauth', json: evidence });
  });
}
