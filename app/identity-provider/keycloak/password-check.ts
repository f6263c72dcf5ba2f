import { decodeJwt } from 'jose';
import type { z } from 'zod';
import type { Log } from '../../telemetry/log.ts';
import { clientParameters, type KeycloakClient } from './admin-token.ts';
import { exchange, type ProviderRequest } from './exchange.ts';
import type { Patience } from './patience.ts';
import { ProviderFailure } from './provider-failure.ts';
import { parseAnswer, PasswordSession, TokenRefusal } from './representations.ts';

interface PasswordCheckOptions {
  readonly tokenUrl: URL;
  readonly logoutUrl: URL;
  /** A client whose direct grant asks for the password alone. */
  readonly client: KeycloakClient;
  readonly findName: (subject: string, deadline: AbortSignal) => Promise<string | undefined>;
  readonly patience: Patience;
  readonly log: Log;
}

/** Creates the check of a password by the direct grant (RFC 6749 §4.3). */
export function createPasswordCheck(options: PasswordCheckOptions) {
  const { tokenUrl, logoutUrl, client, findName, patience, log } = options;

  const post = (
    url: URL,
    parameters: Record<string, string>,
    expects: readonly number[],
  ): ProviderRequest => ({
    method: 'POST',
    url,
    body: new URLSearchParams({ ...clientParameters(client), ...parameters }),
    expects,
  });

  /** Resolves with the session that the password opened, or undefined if the password is wrong. */
  async function open(username: string, password: string, deadline: AbortSignal) {
    const parameters = { grant_type: 'password', username, password };
    const answer = await exchange(post(tokenUrl, parameters, [200, 400, 401]), deadline);
    if (answer.status === 200) return toSession(parseAnswer(PasswordSession, answer.body));
    const { error } = parseAnswer(TokenRefusal, answer.body);
    if (error === 'invalid_grant') return undefined;
    // The client may not use the direct grant, or its secret is wrong.
    throw new ProviderFailure('the identity provider checks no passwords for the vault', {
      isPassing: false,
    });
  }

  /** Ends the session. It gave nobody anything, and expires by itself if this fails. */
  async function end(refreshToken: string, deadline: AbortSignal): Promise<void> {
    const request = post(logoutUrl, { refresh_token: refreshToken }, [200, 204]);
    await patience
      .repeat(() => exchange(request, deadline), deadline)
      .catch((error: unknown) =>
        log.warn({ err: error }, 'a session that a check of a password opened was not ended'),
      );
  }

  return async function checkPassword(
    subject: string,
    password: string,
    deadline: AbortSignal,
  ): Promise<boolean> {
    const username = await findName(subject, deadline);
    if (username === undefined) return false;
    // Not repeated: Keycloak may count wrong passwords and lock the user.
    const session = await patience.once(() => open(username, password, deadline), deadline);
    if (session === undefined) return false;
    await end(session.refreshToken, deadline);
    return session.subject === subject;
  };
}

/** Reads whose session it is. The token needs no verification: it came from the issuer itself. */
function toSession({ access_token, refresh_token }: z.output<typeof PasswordSession>) {
  try {
    return { subject: decodeJwt(access_token).sub, refreshToken: refresh_token };
  } catch {
    throw new ProviderFailure('the identity provider gave no access token', { isPassing: false });
  }
}
