import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import { parseAnswer, type Http } from '../http/http.ts';
import { isPassing } from '../http/retry.ts';
import { hasCode } from '../errors/vault-error.ts';

/** Room for a request to be under way when its token ends. */
const renewalSeconds = 60;

/** A login's and a refresh's answer. */
export const TokenPair = z.object({
  accessToken: z.string(),
  /** Seconds. */
  expiresIn: z.number(),
  refreshToken: z.string(),
});
export type TokenPair = z.output<typeof TokenPair>;

/** The tokens of one session. Both methods throw session_ended once the vault refuses a refresh. */
export interface SessionTokens {
  /** The access token, renewed shortly before its end. */
  current(): Promise<string>;
  /** Another one than that which the vault refused. */
  renew(refused: string): Promise<string>;
  /** Forgets the tokens: from now on the session has ended. */
  end(): void;
}

interface SessionTokensOptions {
  /** Without a token of its own. */
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

  /** Repeating does no harm: where only the answer was lost, the session is lost already. */
  async function refresh(repeatable: boolean): Promise<string> {
    const { refreshToken } = holdTokens();
    const path = '/v1/auth/refresh';
    const request = { method: 'POST', path, json: { refreshToken }, repeatable } as const;
    try {
      const renewed = parseAnswer(TokenPair, (await http.send(request)).body);
      // Unless the session was ended in the meantime.
      holdTokens();
      held = withEnd(renewed);
      return renewed.accessToken;
    } catch (error) {
      if (!hasCode(error, 'invalid_refresh_token')) throw error;
      held = undefined;
      throw new ClientError('session_ended', { cause: error });
    }
  }

  /** All who wait share one: each refresh token may be used once. */
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
