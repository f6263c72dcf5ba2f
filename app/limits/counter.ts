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
 * exceed ARGV[3] or fall below zero. Returns that count and the rest of the window in milliseconds.
 * The library's own script also counts refused uses, and lets a late give-back allow an extra use.
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

/** Digits of a key that count in memory. It bounds the number of counts; some keys share one. */
const memoryKeyDigits = 4;

/**
 * Counts uses by key, in fixed windows that begin with the first use of a key. It counts in Redis
 * for all replicas; without Redis, in this process and up to half of `rate`.
 */
export function createCounter({ name, rate, redis, breaker }: CounterOptions) {
  const options = { keyPrefix: `limit:${name}`, duration: rate.seconds };
  const shared = new RateLimiterRedis({
    ...options,
    points: rate.count,
    storeClient: redis,
    customIncrTtlLuaScript: changeScript,
  });
  // The library's insurance limiter would let each request wait for a Redis that hangs.
  const local = new RateLimiterMemory({
    ...options,
    points: Math.max(1, Math.floor(rate.count / 2)),
  });

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
    /** Counts one use. If none is left, counts nothing and returns the milliseconds to wait. */
    consume: (key: string): Promise<number | undefined> =>
      breaker.call(
        () => refusal(shared.consume(key)),
        () => consumeLocally(key.slice(0, memoryKeyDigits)),
      ),
    /** Takes one use back; the count never falls below zero. */
    giveBack: (key: string): Promise<void> =>
      breaker.call(
        async () => void (await shared.reward(key)),
        () => giveBackLocally(key.slice(0, memoryKeyDigits)),
      ),
  };
}

/** Returns the milliseconds until the next use if this one was refused. */
async function refusal(use: Promise<RateLimiterRes>): Promise<number | undefined> {
  try {
    await use;
    return undefined;
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused.msBeforeNext;
    throw refused;
  }
}
