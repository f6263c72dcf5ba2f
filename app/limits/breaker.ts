import type { Redis } from 'ioredis';
import type { Log } from '../telemetry/log.ts';

const pingPauseMs = 1_000;

/** Keeps requests from waiting, one after the other, for a Redis that is away or hangs. */
export interface Breaker {
  /**
   * Asks Redis by `ask`, and answers what `fallback` gives when that throws. From then on nobody asks:
   * requests set off a ping in the background, one at a time, and the first answer to one closes the
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
  let isPinging = false;
  let nextPingAt = 0;

  function pauseBeforePing(): void {
    nextPingAt = performance.now() + pingPauseMs;
  }

  function open(error: unknown): void {
    if (isOpen) return;
    isOpen = true;
    pauseBeforePing();
    log.warn({ err: error }, 'rate limits are counted in memory, and stricter, without Redis');
  }

  async function ping(): Promise<void> {
    if (isPinging || performance.now() < nextPingAt) return;
    isPinging = true;
    try {
      await redis.ping();
      isOpen = false;
      log.info('rate limits are counted in Redis again');
    } catch {
      pauseBeforePing();
    } finally {
      isPinging = false;
    }
  }

  return {
    async call(ask, fallback) {
      if (isOpen) {
        void ping();
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
