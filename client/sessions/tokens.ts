import { z } from 'zod';
import { ClientError } from '../errors/client-error.ts';
import { parseAnswer, type Http, type HttpAnswer } from '../http/http.ts';
import type { HttpRequest } from '../http/request.ts';
import { isPassing, retryDelaySeconds, type RetryPolicy } from '../http/retry.ts';
import { hasCode, VaultError } from '../errors/vault-error.ts';

/**
 * Seconds before its expiry at which an access token is renewed, so that it does not expire during
 * a request.
 */
const renewalSeconds = 60;

/**
 * A refresh whose response was lost can be repeated for ten seconds after the vault has processed
 * it. So the first attempts wait for a response only this long, and follow each other closely.
 */
const hastyTimeoutSeconds = 4;
const hastyAttempts = 3;

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
  readonly retry: RetryPolicy;
  readonly now: () => Date;
}

export function createSessionTokens(options: SessionTokensOptions): SessionTokens {
  const { http, pair, retry, now } = options;
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
   * Sends a refresh, and repeats it if its response may have been lost; with `isPatient`, whenever
   * the retry policy does. Late repetitions do no harm: if a response was lost for longer than the
   * vault waits, the session is lost already.
   */
  async function send(request: HttpRequest, isPatient: boolean): Promise<HttpAnswer> {
    for (let failures = 1; ; failures += 1) {
      const isHasty = failures <= hastyAttempts;
      try {
        return await http.send(
          isHasty ? { ...request, timeoutSeconds: hastyTimeoutSeconds } : request,
        );
      } catch (error) {
        const isRepeated = isPatient || (failures < hastyAttempts && isLost(error));
        const delaySeconds = isRepeated ? retryDelaySeconds(retry, failures, error) : undefined;
        if (delaySeconds === undefined) throw error;
        await retry.sleep(delaySeconds, undefined);
      }
    }
  }

  async function refresh(isPatient: boolean): Promise<string> {
    const { refreshToken } = holdTokens();
    const request = { method: 'POST', path: '/v1/auth/refresh', json: { refreshToken } } as const;
    try {
      const renewed = parseAnswer(TokenPair, (await send(request, isPatient)).body);
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
  function refreshOnce(isPatient: boolean): Promise<string> {
    renewing ??= refresh(isPatient).finally(() => {
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

/**
 * Returns whether the vault may have processed a request although this error came in place of its
 * response: no response at all, or one of a proxy.
 */
function isLost(error: unknown): boolean {
  return !(error instanceof VaultError) || error.status === 502 || error.status === 504;
}
