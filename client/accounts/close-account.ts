import type { Http } from '../http/http.ts';
import type { RetryPolicy } from '../http/retry.ts';
import type { SessionTokens } from '../sessions/tokens.ts';
import type { Credentials } from './accounts.ts';
import { reauthenticate } from './reauth.ts';

/**
 * Closes the account, and with it every session. Throws as `reauthenticate` does, and session_ended
 * where it may be closed already, its answer being lost.
 */
export async function closeAccount(
  { http, retry, tokens }: { http: Http; retry: RetryPolicy; tokens: SessionTokens },
  credentials: Credentials,
): Promise<void> {
  const { reauthToken } = await reauthenticate({ http, retry }, credentials);
  const headers = { 'x-reauth-token': reauthToken };
  await http.send({ method: 'DELETE', path: '/v1/auth/account', headers });
  tokens.end();
}
