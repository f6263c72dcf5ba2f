import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Breaker } from './redis-breaker.ts';
import type { Rate } from './rate.ts';

interface CounterOptions {
  readonly name: string;
  readonly rate: Rate;
  readonly redis: Redis;
  readonly breaker: Breaker;
}

/**
 * Lua script that changes a count by ARGV[1] in a window of ARGV[2] seconds, unless the count would
 * exceed ARGV[3] or fall below zero. Returns the new count, even if it was not stored, and the rest
 * of the window in milliseconds. The library's own script also counts refused uses, and lets a late
 * give-back allow an extra use.
 */
const changeScript = `
local change = tonumber(ARGV[1])
local count = tonumber(redis.call('get', KEYS[1]) or '0') + change
if (change > 0 and count <= tonumber(ARGV[3])) or (change < 0 and count >= 0) then
  redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
  redis.call('incrby', KEYS[1], change)
end
return {count, redis.call('pttl', KEYS[1])}
`;

/**
 * Number of leading digits by which keys are distinguished in memory. It limits the number of
 * counts; keys with equal leading digits share a count.
 */
const memoryKeyDigits = 4;

/**
 * Creates a counter of uses by key, in fixed windows that begin with the first use of a key. The
 * counter counts in Redis for all replicas. While Redis is unavailable, it counts in this process
 * and allows half of `rate`.
 */
export function createCounter({ name, rate, redis, breaker }: CounterOptions) {
  const options = { keyPrefix: `limit:${name}`, duration: rate.seconds };
  const shared = new RateLimiterRedis({
    ...options,
    points: rate.count,
    storeClient: redis,
    customIncrTtlLuaScript: changeScript,
  });
  // Replaces the library's insurance limiter, with which each request would wait for a Redis that
  // hangs.
  const localCount = Math.max(1, Math.floor(rate.count / 2));
  const local = new RateLimiterMemory({ ...options, points: localCount });

  async function consumeLocally(key: string): Promise<number | undefined> {
    const waitMs = await refusal(local.consume(key));
    if (waitMs !== undefined) await local.reward(key);
    return waitMs;
  }

  async function giveBackLocally(key: string): Promise<void> {
    const { consumedPoints } = await local.reward(key);
    if (consumedPoints < 0) await local.penalty(key);
  }

  return {
    /**
     * Counts one use. If no use is left, counts nothing and resolves with the milliseconds to wait.
     */
    consume: (key: string): Promise<number | undefined> =>
      breaker.call(
        () => refusal(shared.consume(key)),
        () => consumeLocally(key.slice(0, memoryKeyDigits)),
      ),
    /** Resolves with the milliseconds to wait if no use is left. Counts nothing. */
    findWait: (key: string): Promise<number | undefined> =>
      breaker.call(
        async () => waitOf(await shared.get(key), rate.count),
        async () => waitOf(await local.get(key.slice(0, memoryKeyDigits)), localCount),
      ),
    /** Subtracts one use from the count, which never falls below zero. */
    giveBack: (key: string): Promise<void> =>
      breaker.call(
        async () => void (await shared.reward(key)),
        () => giveBackLocally(key.slice(0, memoryKeyDigits)),
      ),
  };
}

/** Returns the milliseconds to wait if a counted key has no use left. */
function waitOf(counted: RateLimiterRes | null, count: number): number | undefined {
  if (counted === null || counted.consumedPoints < count) return undefined;
  return counted.msBeforeNext;
}

/**
 * Resolves with the milliseconds to wait if `use` was refused, or with undefined if it was counted.
 */
async function refusal(use: Promise<RateLimiterRes>): Promise<number | undefined> {
  try {
    await use;
    return undefined;
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused.msBeforeNext;
    throw refused;
  }
}
