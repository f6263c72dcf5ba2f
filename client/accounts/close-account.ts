import type { Http } from '../http/http.ts';
import type { RetryPolicy } from '../http/retry.ts';
import type { SessionTokens } from '../sessions/tokens.ts';
import type { Credentials } from './accounts.ts';
import { reauthenticate } from './reauth.ts';

/**
 * Closes the account and ends all its login sessions. Throws what `reauthenticate` throws, and
 * session_ended if the account may have been closed already by a request whose response was lost.
 */
export async function closeAccount(
  {
    http,
    retry,
    tokens,
  }: { readonly http: Http; readonly retry: RetryPolicy; readonly tokens: SessionTokens },
  credentials: Credentials,
): Promise<void> {
  const { reauthToken } = await reauthenticate({ http, retry }, credentials);
  const headers = { 'x-reauth-token': reauthToken };
  await http.send({ method: 'DELETE', path: '/v1/auth/account', headers });
  tokens.end();
}
