import type { Clock } from '../../async/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { createWakeSignal } from '../../async/wake-signal.ts';

const pauseMs = { first: 250, last: 5_000 };

/** A time in which this process cannot seal. */
export interface Pause {
  readonly since: Date;
  /** The code of the latest failure, which says what to do (docs/dlq.md). */
  readonly reason: string;
}

/**
 * Creates the circuit breaker of sealing, which is open while nothing can be sealed because the
 * signer, the database or, during a start, the object store is unavailable. Logs only when the
 * breaker opens, when the reason changes, and when the breaker closes.
 */
export function createSealingBreaker(clock: Clock, log: Log) {
  const closed = createWakeSignal();
  let pause: Pause | undefined;
  let nextPauseMs = pauseMs.first;
  return {
    /** Since when and why the breaker is open; undefined while it is closed. */
    get pause(): Pause | undefined {
      return pause;
    },
    /** Reports a failure, which opens the breaker if it is closed. */
    failed(error: unknown): void {
      const reason = codeOf(error);
      if (pause === undefined) log.warn({ err: error, reason }, 'sealing pauses');
      else if (pause.reason !== reason) {
        log.warn({ err: error, reason }, 'sealing is still paused, for another reason');
      }
      pause = { since: pause?.since ?? clock(), reason };
    },
    /** Reports a success, which closes the breaker if it is open and wakes the paused lanes. */
    succeeded(): void {
      if (pause === undefined) return;
      const pausedMs = clock().getTime() - pause.since.getTime();
      pause = undefined;
      nextPauseMs = pauseMs.first;
      log.info({ pausedMs }, 'sealing resumes');
      closed.wake();
    },
    /**
     * Waits before the next attempt, longer after each failure. Resolves early when another lane
     * succeeds or `stop` aborts.
     */
    async pauseLane(stop: AbortSignal): Promise<void> {
      const ms = nextPauseMs;
      nextPauseMs = Math.min(nextPauseMs * 2, pauseMs.last);
      await closed.wait(ms, stop);
    },
  };
}

/** Returns the code of an error of the signer, the database or the object store. */
function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'internal_error';
}
