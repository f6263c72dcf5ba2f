import type { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Breaker } from './breaker.ts';
import type { Rate } from './rate.ts';

/** Uses by key, in windows of a fixed length that begin with the first use of a key. */
interface Counter {
  /** Counts one use; answers for how many milliseconds there is none left, and then counts nothing. */
  consume(key: string): Promise<number | undefined>;
  /** Takes one use back; never below none. */
  giveBack(key: string): Promise<void>;
}

interface CounterOptions {
  readonly name: string;
  readonly rate: Rate;
  readonly redis: Redis;
  readonly breaker: Breaker;
}

/**
 * Changes a count by ARGV[1] in a window of ARGV[2] seconds, unless that would take it over ARGV[3] or
 * below zero; answers what it would be, and the rest of the window in milliseconds.
 * (The library's own script counts refused uses too, and a use taken back late allows one more.)
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

/** Bounds what many keys can take up in memory: some then share a count. */
const memoryKeyDigits = 4;

/** Counts in Redis for all replicas; without it, in this process and up to half of `rate`. */
export function createCounter({ name, rate, redis, breaker }: CounterOptions): Counter {
  const options = { keyPrefix: `limit:${name}`, duration: rate.seconds };
  const shared = new RateLimiterRedis({
    ...options,
    points: rate.count,
    storeClient: redis,
    customIncrTtlLuaScript: changeScript,
  });
  // Not the library's insurance limiter: with that, each request would wait for a Redis that hangs.
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
    consume: (key) =>
      breaker.call(
        () => refusal(shared.consume(key)),
        () => consumeLocally(key.slice(0, memoryKeyDigits)),
      ),
    giveBack: (key) =>
      breaker.call(
        async () => void (await shared.reward(key)),
        () => giveBackLocally(key.slice(0, memoryKeyDigits)),
      ),
  };
}

/** Milliseconds until the next use, where this one was refused. */
async function refusal(use: Promise<RateLimiterRes>): Promise<number | undefined> {
  try {
    await use;
    return undefined;
  } catch (refused) {
    if (refused instanceof RateLimiterRes) return refused.msBeforeNext;
    throw refused;
  }
}
