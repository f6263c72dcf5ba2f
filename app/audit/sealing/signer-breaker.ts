import type { Clock } from '../../async/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { createWakeSignal } from '../../async/wake-signal.ts';

const pauseMs = { first: 250, last: 5_000 };

/**
 * Creates the circuit breaker of sealing, which is open while nothing can be sealed because the
 * signer, the database or, during a start, the object store is unavailable. Logs only when the
 * breaker opens and when it closes.
 */
export function createSealingBreaker(clock: Clock, log: Log) {
  const closed = createWakeSignal();
  let openSince: Date | undefined;
  let nextPauseMs = pauseMs.first;
  return {
    /** When the breaker opened; undefined while it is closed. */
    get openSince(): Date | undefined {
      return openSince;
    },
    /** Reports a failure, which opens the breaker if it is closed. */
    failed(error: unknown): void {
      if (openSince !== undefined) return;
      openSince = clock();
      log.warn({ err: error }, 'sealing pauses');
    },
    /** Reports a success, which closes the breaker if it is open and wakes the paused lanes. */
    succeeded(): void {
      if (openSince === undefined) return;
      const pausedMs = clock().getTime() - openSince.getTime();
      openSince = undefined;
      nextPauseMs = pauseMs.first;
      log.info({ pausedMs }, 'sealing resumes');
      closed.wake();
    },
    /**
     * Waits before the next attempt, longer after each failure. Resolves early when another lane
     * succeeds or `stop` aborts.
     */
    async pause(stop: AbortSignal): Promise<void> {
      const ms = nextPauseMs;
      nextPauseMs = Math.min(nextPauseMs * 2, pauseMs.last);
      await closed.wait(ms, stop);
    },
  };
}
