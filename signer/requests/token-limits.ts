import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Metrics } from '../metrics/metrics.ts';
import type { Log } from '../log/log.ts';
import { SignerUnavailable } from '../protocol/signer-error.ts';

/** Resolves if another token for a user may be signed now. */
export type TokenLimits = (sub: string) => Promise<void>;

interface TokenLimitsOptions {
  /** Tokens a second for each user. */
  readonly perUser: number;
  /** Tokens a second for all users. */
  readonly inAll: number;
  readonly metrics: Pick<Metrics, 'tokensRefused'>;
  readonly log: Log;
}

const second = { duration: 1 };

/**
 * Creates the function that limits how many tokens are signed a second, for each user and in all:
 * whoever takes over the app cannot sign tokens in stock faster than users log in. Rejects with
 * SignerUnavailable `busy` above a limit; the first refusal of a user within a second is logged.
 */
export function createTokenLimits(options: TokenLimitsOptions): TokenLimits {
  const { perUser, inAll, metrics, log } = options;
  const ofUsers = new RateLimiterMemory({ ...second, points: perUser });
  const ofAll = new RateLimiterMemory({ ...second, points: inAll });

  function refuse(limit: 'user' | 'all', sub: string, { consumedPoints }: RateLimiterRes): never {
    const most = limit === 'user' ? perUser : inAll;
    metrics.tokensRefused.add({ limit });
    if (consumedPoints === most + 1)
      log.warn({ limit, most, sub }, 'too many tokens are asked for');
    throw new SignerUnavailable('busy', `over ${most} tokens a second are asked for`);
  }

  return async (sub) => {
    const refusedByAll = await count(ofAll, 'all');
    if (refusedByAll !== undefined) refuse('all', sub, refusedByAll);
    const refused = await count(ofUsers, sub);
    if (refused !== undefined) refuse('user', sub, refused);
  };
}

/** Counts a token. Resolves with the state of the limit if the token is above it. */
async function count(limiter: RateLimiterMemory, key: string): Promise<RateLimiterRes | undefined> {
  try {
    await limiter.consume(key);
    return undefined;
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused;
    throw refused;
  }
}
