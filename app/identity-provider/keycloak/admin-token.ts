import { valueOf, type Secret } from '../../secrets/secret.ts';
import { exchange } from './exchange.ts';
import { ProviderFailure } from './provider-failure.ts';
import { parseAnswer, Token } from './representations.ts';

/** A client of Keycloak that has a secret. */
export interface KeycloakClient {
  readonly id: string;
  readonly secret: Secret;
}

interface AdminTokenOptions {
  readonly tokenUrl: URL;
  readonly client: KeycloakClient;
}

interface HeldToken {
  readonly token: string;
  /** By `performance.now()`: before the token expires, by at least a tenth of its lifetime. */
  readonly renewAt: number;
}

/** Returns the parameters with which a client identifies itself to the token endpoint. */
export function clientParameters({ id, secret }: KeycloakClient): Record<string, string> {
  return { client_id: id, client_secret: valueOf(secret) };
}

/** Settles as `work` does, or throws ProviderFailure once `deadline` aborts. */
async function before<T>(deadline: AbortSignal, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const giveUp = () =>
    late.reject(new ProviderFailure('there is no token in time', { isPassing: true }));
  if (deadline.aborted) giveUp();
  deadline.addEventListener('abort', giveUp);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    deadline.removeEventListener('abort', giveUp);
  }
}

/**
 * Creates the holder of the service account's access token, which is asked for when it is needed
 * and kept in memory only. Concurrent callers share one request.
 */
export function createAdminToken({ tokenUrl, client }: AdminTokenOptions) {
  let held: HeldToken | undefined;
  let asking: Promise<HeldToken> | undefined;

  async function ask(): Promise<HeldToken> {
    const askedAt = performance.now();
    const answer = await exchange(
      {
        method: 'POST',
        url: tokenUrl,
        body: new URLSearchParams({
          ...clientParameters(client),
          grant_type: 'client_credentials',
        }),
        expects: [200],
      },
      // The request has no deadline but its own, since callers with different ones share it.
      new AbortController().signal,
    );
    const { access_token: token, expires_in: seconds } = parseAnswer(Token, answer.body);
    return { token, renewAt: askedAt + seconds * 900 };
  }

  async function renew(): Promise<HeldToken> {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
    held = await asking;
    return held;
  }

  return {
    /** Resolves with a token that has not expired yet. Throws ProviderFailure. */
    async get(deadline: AbortSignal): Promise<string> {
      const usable = held !== undefined && performance.now() < held.renewAt ? held : undefined;
      return (usable ?? (await before(deadline, renew()))).token;
    },
    /** Forgets a token that Keycloak refused, as after it was restarted with other keys. */
    forget(token: string): void {
      if (held?.token === token) held = undefined;
    },
  };
}
