import type { Redis } from 'ioredis';
import { assertWritable } from '../redis/redis.ts';
import type { Log } from '../telemetry/log.ts';

const pauseMs = 1_000;

export type Breaker = ReturnType<typeof createBreaker>;

interface BreakerOptions {
  readonly redis: Redis;
  readonly log: Log;
}

/** Creates a circuit breaker, so that requests do not all wait for a Redis that is unavailable. */
export function createBreaker({ redis, log }: BreakerOptions) {
  let isOpen = false;
  let isTrying = false;
  let nextTryAt = 0;

  function pauseBeforeTry(): void {
    nextTryAt = performance.now() + pauseMs;
  }

  function open(error: unknown): void {
    if (isOpen) return;
    isOpen = true;
    pauseBeforeTry();
    log.warn(
      { err: error },
      'Redis is unavailable: rate limits are counted in memory and are stricter',
    );
  }

  async function tryAgain(): Promise<void> {
    if (isTrying || performance.now() < nextTryAt) return;
    isTrying = true;
    try {
      await assertWritable(redis);
      isOpen = false;
      log.info('rate limits are counted in Redis again');
    } catch {
      pauseBeforeTry();
    } finally {
      isTrying = false;
    }
  }

  return {
    /**
     * Calls `ask`, which uses Redis. If `ask` throws, opens the breaker and calls `fallback`. While
     * the breaker is open, every call uses `fallback` and triggers test writes in the background,
     * one at a time. The first test write that succeeds closes the breaker.
     */
    async call<T>(ask: () => Promise<T>, fallback: () => Promise<T>): Promise<T> {
      if (isOpen) {
        void tryAgain();
        return fallback();
      }
      try {
        return await ask();
      } catch (error) {
        open(error);
        return fallback();
      }
    },
  };
}
