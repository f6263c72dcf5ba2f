import { z } from 'zod';
import type { Credentials } from './accounts.ts';
import type { Http } from './http.ts';
import { provePassword } from './password-proof.ts';

const Reauthenticated = z.object({ reauthToken: z.string(), expiresAt: z.iso.datetime() });
/** Sent as X-Reauth-Token; good for five minutes. */
export type Reauthenticated = z.output<typeof Reauthenticated>;

/**
 * Proves once more, by SRP, that a session's user knows the password.
 * Throws VaultError invalid_proof (wrong password) or rate_limited.
 */
export async function reauthenticate(
  http: Http,
  credentials: Credentials,
): Promise<Reauthenticated> {
  const { evidence } = await provePassword(http, credentials);
  return http.json(Reauthenticated, { method: 'POST', path: '/v1/auth/reauth', json: evidence });
}
