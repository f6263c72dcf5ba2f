import { z } from 'zod';
import type { Http } from '../http/http.ts';
import { withRetries, type RetryPolicy } from '../http/retry.ts';
import { passwordMethod } from '../login/login-method.ts';
import { proveLogin } from '../login/login-proof.ts';
import type { Credentials } from './accounts.ts';

const Reauthenticated = z.object({ reauthToken: z.string(), expiresAt: z.iso.datetime() });
/** Sent as X-Reauth-Token; good for five minutes. */
export type Reauthenticated = z.output<typeof Reauthenticated>;

/**
 * Proves once more, by SRP, that a session's user knows the password.
 * Throws VaultError invalid_proof (wrong password) or rate_limited.
 */
export function reauthenticate(
  { http, retry }: { http: Http; retry: RetryPolicy },
  { email, password }: Credentials,
): Promise<Reauthenticated> {
  // From its challenge on, since a proof serves one attempt.
  return withRetries(retry, undefined, async () => {
    const { evidence } = await proveLogin(http, {
      email,
      method: passwordMethod,
      secret: password,
    });
    return http.json(Reauthenticated, { method: 'POST', path: '/v1/auth/reauth', json: evidence });
  });
}
