import type { Credentials } from './accounts.ts';
import type { Http } from './http.ts';
import { reauthenticate } from './reauth.ts';
import type { SessionTokens } from './session-tokens.ts';

/**
 * Closes the account, and with it every session. Throws as `reauthenticate` does, and session_ended
 * where it may be closed already, its answer being lost.
 */
export async function closeAccount(
  { http, tokens }: { http: Http; tokens: SessionTokens },
  credentials: Credentials,
): Promise<void> {
  const { reauthToken } = await reauthenticate(http, credentials);
  const headers = { 'x-reauth-token': reauthToken };
  await http.send({ method: 'DELETE', path: '/v1/auth/account', headers });
  tokens.end();
}
