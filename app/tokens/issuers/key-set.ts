import { setTimeout } from 'node:timers/promises';
import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../../async/clock.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Log } from '../../telemetry/log.ts';
import type { IssuerConfig } from './config.ts';
import { fetchSigningKeys } from './key-document.ts';

export interface KeySetState {
  readonly issuer: string;
  /** There are keys and they are not too old: tokens can be verified. */
  readonly isUsable: boolean;
  /** The last fetch succeeded. */
  readonly isReachable: boolean;
  /** When the keys were last fetched. */
  readonly fetchedAt: Date | undefined;
}

/** The keys of another issuer, kept so that tokens verify while it is away for a while. */
export interface KeySet {
  /**
   * The key a token names, for jose. Throws jwks_unavailable while that cannot be told, and jose's
   * JWKSNoMatchingKey when the issuer answers and has no such key.
   */
  readonly find: JWTVerifyGetKey;
  state(): KeySetState;
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

/** Fetches the keys now and then again and again until `stop` aborts. */
export function startKeySet({ config, log, clock, stop }: KeySetOptions): KeySet {
  const { issuer, jwksUri } = config;
  const { maxAgeSeconds, refreshSeconds, coolDownSeconds } = config.keyCache;
  let keys: FetchedKeys | undefined;
  let isReachable: boolean | undefined;
  let fetching: Promise<void> | undefined;
  let lastLookUp = -Infinity;

  const secondsSince = (moment: number) => (clock().getTime() - moment) / 1000;

  /** What the issuer publishes now replaces what it published before: so it withdraws a key. */
  async function fetchKeys(): Promise<void> {
    try {
      const fetched = await fetchSigningKeys(jwksUri, stop);
      const find = createLocalJWKSet({ keys: fetched });
      keys = { find, count: fetched.length, fetchedAt: clock() };
      if (isReachable === false) log.info({ issuer }, 'the key set of an issuer is back');
      isReachable = true;
    } catch (error) {
      isReachable = false;
      if (!stop.aborted) log.warn({ err: error, issuer }, 'the key set of an issuer is away');
    }
  }

  /** One fetch at a time, shared by all who wait for it. */
  function refresh(): Promise<void> {
    fetching ??= fetchKeys().finally(() => {
      fetching = undefined;
    });
    return fetching;
  }

  async function keepFresh(): Promise<void> {
    while (!stop.aborted) {
      await refresh();
      const seconds = isReachable ? refreshSeconds : Math.min(refreshSeconds, coolDownSeconds);
      // Replicas that start together must not ask together for ever.
      const jitter = 0.9 + Math.random() * 0.2;
      await setTimeout(seconds * jitter * 1000, undefined, { signal: stop, ref: false }).catch(
        () => undefined,
      );
    }
  }

  /** Strangers can name any key: their tokens cost the issuer one fetch a cool-down. */
  async function refreshForLookUp(): Promise<void> {
    if (fetching === undefined) {
      if (secondsSince(lastLookUp) < coolDownSeconds) return;
      lastLookUp = clock().getTime();
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

  void keepFresh();
  return {
    async find(...token) {
      const cached = await findCached(...token);
      if (cached !== undefined) return cached;
      await refreshForLookUp();
      const found = await findCached(...token);
      if (found !== undefined) return found;
      // An issuer that is away may have a new key by now.
      if (isReachable !== true || usableKeys() === undefined)
        throw new AppError('jwks_unavailable');
      throw new errors.JWKSNoMatchingKey();
    },
    state: () => ({
      issuer,
      isUsable: usableKeys() !== undefined,
      isReachable: isReachable === true,
      fetchedAt: keys?.fetchedAt,
    }),
  };
}
