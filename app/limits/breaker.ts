import type { Redis } from 'ioredis';
import { assertWritable } from '../redis/redis.ts';
import type { Log } from '../telemetry/log.ts';

const pauseMs = 1_000;

/** Keeps requests from waiting, one after the other, for a Redis that is away or hangs. */
export interface Breaker {
  /**
   * Asks Redis by `ask`, and answers what `fallback` gives when that throws. From then on nobody asks:
   * requests set off a write in the background, one at a time, and the first that is taken closes the
   * breaker.
   */
  call<T>(ask: () => Promise<T>, fallback: () => Promise<T>): Promise<T>;
}

interface BreakerOptions {
  readonly redis: Redis;
  readonly log: Log;
}

export function createBreaker({ redis, log }: BreakerOptions): Breaker {
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
    log.warn({ err: error }, 'rate limits are counted in memory, and stricter, without Redis');
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
    async call(ask, fallback) {
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
