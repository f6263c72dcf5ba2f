import type { Clock } from '../../async/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { createWakeSignal } from '../../async/wake-signal.ts';

const pauseMs = { first: 250, last: 5_000 };

/**
 * Creates the circuit breaker of sealing, which is open while nothing can be sealed: the signer,
 * the database, or at a start the object store is away. Logs when it opens and when it closes, and
 * nothing in between.
 */
export function createSealingBreaker(clock: Clock, log: Log) {
  const closed = createWakeSignal();
  let openSince: Date | undefined;
  let nextPauseMs = pauseMs.first;
  return {
    /** Undefined while it is closed. */
    get openSince(): Date | undefined {
      return openSince;
    },
    /** Opens it. */
    failed(error: unknown): void {
      if (openSince !== undefined) return;
      openSince = clock();
      log.warn({ err: error }, 'sealing pauses');
    },
    /** Closes it, and wakes the lanes that pause. */
    succeeded(): void {
      if (openSince === undefined) return;
      const pausedMs = clock().getTime() - openSince.getTime();
      openSince = undefined;
      nextPauseMs = pauseMs.first;
      log.info({ pausedMs }, 'sealing goes on');
      closed.wake();
    },
    /** Resolves when it is time to try again, or when another lane has succeeded. */
    async pause(stop: AbortSignal): Promise<void> {
      const ms = nextPauseMs;
      nextPauseMs = Math.min(nextPauseMs * 2, pauseMs.last);
      await closed.wait(ms, stop);
    },
  };
}
