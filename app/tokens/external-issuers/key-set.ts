import { setTimeout } from 'node:timers/promises';
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../async/clock.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Log } from '../../telemetry/log.ts';
import type { IssuerConfig } from './config.ts';
import { fetchSigningKeys } from './key-document.ts';

export interface KeySetState {
  readonly issuer: string;
  /** Whether tokens can be verified: there are keys, and they are not too old. */
  readonly isUsable: boolean;
  /** Whether the last fetch succeeded. */
  readonly isReachable: boolean;
  /** When the keys were last fetched; undefined before the first success. */
  readonly fetchedAt: Date | undefined;
}

interface KeySetOptions {
  readonly config: Pick<IssuerConfig, 'issuer' | 'jwksUri' | 'keyCache'>;
  readonly log: Log;
  readonly clock: Clock;
  readonly stop: AbortSignal;
}

interface FetchedKeys {
  readonly find: JWTVerifyGetKey;
  readonly count: number;
  readonly fetchedAt: Date;
}

export type KeySet = ReturnType<typeof startKeySet>;

/**
 * Starts caching the keys of another issuer, so that tokens can be verified while the issuer is
 * temporarily unavailable. Fetches the keys now and periodically until `stop` aborts.
 */
export function startKeySet({ config, log, clock, stop }: KeySetOptions) {
  const { issuer, jwksUri } = config;
  const { maxAgeSeconds, refreshSeconds, coolDownSeconds } = config.keyCache;
  let keys: FetchedKeys | undefined;
  let isReachable: boolean | undefined;
  let fetching: Promise<void> | undefined;
  let lastLookUpAt = -Infinity;

  const secondsSince = (timeMs: number) => (clock().getTime() - timeMs) / 1000;

  /**
   * Fetches the keys and replaces the cached keys, so that a withdrawn key is no longer accepted.
   */
  async function fetchKeys(): Promise<void> {
    try {
      const fetched = await fetchSigningKeys(jwksUri, stop);
      const find = createLocalJWKSet({ keys: fetched });
      keys = { find, count: fetched.length, fetchedAt: clock() };
      if (isReachable === false)
        log.info({ issuer }, 'the key set of an issuer is available again');
      isReachable = true;
    } catch (error) {
      isReachable = false;
      if (!stop.aborted)
        log.warn({ err: error, issuer }, 'fetching the key set of an issuer failed');
    }
  }

  /** Shares one fetch among concurrent callers. */
  function refresh(): Promise<void> {
    fetching ??= fetchKeys().finally(() => {
      fetching = undefined;
    });
    return fetching;
  }

  async function keepFresh(): Promise<void> {
    while (!stop.aborted) {
      await refresh();
      const seconds =
        isReachable === true ? refreshSeconds : Math.min(refreshSeconds, coolDownSeconds);
      // Jitter spreads the fetches of replicas that started together.
      const jitter = 0.9 + Math.random() * 0.2;
      await setTimeout(seconds * jitter * 1000, undefined, { signal: stop, ref: false }).catch(
        () => undefined,
      );
    }
  }

  /**
   * Fetches the keys at most once per cool-down period, since anybody can send tokens that name
   * unknown keys.
   */
  async function refreshForLookUp(): Promise<void> {
    if (fetching === undefined) {
      if (secondsSince(lastLookUpAt) < coolDownSeconds) return;
      lastLookUpAt = clock().getTime();
    }
    await refresh();
  }

  function usableKeys(): FetchedKeys | undefined {
    const isUsable =
      keys !== undefined &&
      keys.count > 0 &&
      secondsSince(keys.fetchedAt.getTime()) < maxAgeSeconds;
    return isUsable ? keys : undefined;
  }

  async function findCached(...token: Parameters<JWTVerifyGetKey>) {
    try {
      return await usableKeys()?.find(...token);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return undefined;
      throw error;
    }
  }

  async function find(
    ...token: Parameters<JWTVerifyGetKey>
  ): Promise<Awaited<ReturnType<JWTVerifyGetKey>>> {
    const cached = await findCached(...token);
    if (cached !== undefined) return cached;
    await refreshForLookUp();
    const found = await findCached(...token);
    if (found !== undefined) return found;
    // While the issuer is unavailable, an unknown key may be a new key that could not be fetched.
    if (isReachable !== true || usableKeys() === undefined) throw new AppError('jwks_unavailable');
    throw new errors.JWKSNoMatchingKey();
  }

  void keepFresh();
  return {
    /**
     * Finds the key that a token names, for jose. Throws jwks_unavailable while it is unknown
     * whether the issuer has such a key, and jose's JWKSNoMatchingKey if it has none.
     */
    find,

    /** Returns the state of the key set, without a request to the issuer. */
    state: (): KeySetState => ({
      issuer,
      isUsable: usableKeys() !== undefined,
      isReachable: isReachable === true,
      fetchedAt: keys?.fetchedAt,
    }),
  };
}
