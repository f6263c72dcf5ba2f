import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import { parseAnswer, type Http } from '../http/http.ts';
import { isPassing } from '../http/retry.ts';
import { hasCode } from '../errors/vault-error.ts';

/**
 * Seconds before its expiry at which an access token is renewed, so that it does not expire during
 * a request.
 */
const renewalSeconds = 60;

/** The response to a login and to a refresh. */
export const TokenPair = z.object({
  accessToken: z.string(),
  /** Seconds until the access token expires. */
  expiresIn: z.number(),
  refreshToken: z.string(),
});
export type TokenPair = z.output<typeof TokenPair>;

/**
 * The tokens of one login session. `current` and `renew` throw session_ended once the vault refuses
 * a refresh.
 */
export interface SessionTokens {
  /** Resolves with the access token, which is renewed shortly before it expires. */
  current(): Promise<string>;
  /**
   * Resolves with an access token other than `refused`, which the vault refused. Refreshes the
   * tokens if necessary.
   */
  renew(refused: string): Promise<string>;
  /** Discards the tokens because the session has ended; later calls throw session_ended. */
  end(): void;
}

interface SessionTokensOptions {
  /** Sends requests without an access token. */
  readonly http: Http;
  readonly pair: TokenPair;
  readonly now: () => Date;
}

export function createSessionTokens({ http, pair, now }: SessionTokensOptions): SessionTokens {
  let held: (TokenPair & { readonly expiresAt: number }) | undefined = withEnd(pair);
  let renewing: Promise<string> | undefined;

  function withEnd(pair: TokenPair) {
    return { ...pair, expiresAt: now().getTime() + pair.expiresIn * 1000 };
  }

  function holdTokens() {
    if (held === undefined) throw new ClientError('session_ended');
    return held;
  }

  /**
   * Refreshes the tokens. Retrying does no harm: if a response was lost, the session is lost
   * already, since each refresh token may be used once.
   */
  async function refresh(repeatable: boolean): Promise<string> {
    const { refreshToken } = holdTokens();
    const path = '/v1/auth/refresh';
    const request = { method: 'POST', path, json: { refreshToken }, repeatable } as const;
    try {
      const renewed = parseAnswer(TokenPair, (await http.send(request)).body);
      // Throws if the session was ended in the meantime.
      holdTokens();
      held = withEnd(renewed);
      return renewed.accessToken;
    } catch (error) {
      if (!hasCode(error, 'invalid_refresh_token')) throw error;
      held = undefined;
      throw new ClientError('session_ended', { cause: error });
    }
  }

  /** Lets concurrent callers share one refresh, since each refresh token may be used once. */
  function refreshOnce(repeatable: boolean): Promise<string> {
    renewing ??= refresh(repeatable).finally(() => {
      renewing = undefined;
    });
    return renewing;
  }

  return {
    async current() {
      const { accessToken, expiresAt } = holdTokens();
      const leftMs = expiresAt - now().getTime();
      if (leftMs > renewalSeconds * 1000) return accessToken;
      if (leftMs <= 0) return refreshOnce(true);
      try {
        return await refreshOnce(false);
      } catch (error) {
        if (!isPassing(error)) throw error;
        return accessToken;
      }
    },
    async renew(refused) {
      const { accessToken } = holdTokens();
      return accessToken === refused ? refreshOnce(true) : accessToken;
    },
    end() {
      held = undefined;
    },
  };
}
