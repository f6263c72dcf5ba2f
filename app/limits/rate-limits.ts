import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { AppError } from '../errors/app-error.ts';
import type { Log } from '../telemetry/log.ts';
import { createBreaker } from './redis-breaker.ts';
import { createCounter } from './counter.ts';
import { networkOf } from './network.ts';
import type { Rate } from './rate.ts';

/** Names of the limits: the limited action, and the kind of its key. */
export const limitNames = [
  'register-address',
  'register-email',
  'register-email-client',
  'validate-address',
  'challenge-address',
  'proof-address',
  'proof-account',
  'login-account',
  'refresh-account',
  'totp-account',
  'share-key-user',
  'job-user',
  'write-user',
] as const;

export type LimitName = (typeof limitNames)[number];
/** The name of a limit whose keys are client addresses. */
export type AddressLimit = Extract<LimitName, `${string}-address`>;

/** Rates by limit; undefined disables a limit. */
export type Rates = Readonly<Record<LimitName, Rate | undefined>>;

/**
 * Rate limits across all replicas. Keys are stored only as hashes. Client addresses count by
 * network: an IPv6 /64 is one client.
 */
export interface RateLimits {
  /**
   * Counts one use. If no use is left, counts nothing and throws rate_limited with
   * retryAfterSeconds.
   */
  consume(name: LimitName, key: string): Promise<void>;
  /** Counts one use if one is left. Resolves with whether it was counted. */
  tryConsume(name: LimitName, key: string): Promise<boolean>;
  /** Throws rate_limited, with retryAfterSeconds, if no use is left. Counts nothing. */
  assertLeft(name: LimitName, key: string): Promise<void>;
  /** Subtracts one use from the count of a key. */
  giveBack(name: LimitName, key: string): Promise<void>;
}

interface RateLimitsOptions {
  readonly redis: Redis;
  readonly rates: Rates;
  /** Called whenever a limit refuses a use. */
  readonly onRefused: (name: LimitName) => void;
  readonly log: Log;
}

export function createRateLimits(options: RateLimitsOptions): RateLimits {
  const { redis, rates, onRefused, log } = options;
  const breaker = createBreaker({ redis, log });
  const counters = new Map(
    limitNames.flatMap((name) => {
      const rate = rates[name];
      return rate === undefined
        ? []
        : [[name, createCounter({ name, rate, redis, breaker })] as const];
    }),
  );

  /**
   * Counts one use if one is left, or if the limit is off. Otherwise resolves with the milliseconds
   * to wait.
   */
  async function count(name: LimitName, key: string): Promise<number | undefined> {
    const waitMs = await counters.get(name)?.consume(hashKey(name, key));
    if (waitMs !== undefined) onRefused(name);
    return waitMs;
  }

  return {
    async consume(name, key) {
      refuseFor(await count(name, key));
    },
    async assertLeft(name, key) {
      const waitMs = await counters.get(name)?.findWait(hashKey(name, key));
      if (waitMs !== undefined) onRefused(name);
      refuseFor(waitMs);
    },
    tryConsume: async (name, key) => (await count(name, key)) === undefined,
    async giveBack(name, key) {
      await counters.get(name)?.giveBack(hashKey(name, key));
    },
  };
}

/** Throws rate_limited if there is a time to wait. */
function refuseFor(waitMs: number | undefined): void {
  if (waitMs === undefined) return;
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  throw new AppError('rate_limited', { retryAfterSeconds });
}

function hashKey(name: LimitName, key: string): string {
  const text = name.endsWith('-address') ? networkOf(key) : key;
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}
