import type { Clock } from '../../async/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { createWakeSignal } from '../../async/wake-signal.ts';

const pauseMs = { first: 250, last: 5_000 };

/**
 * Open while nothing can be sealed: the signer or the database is away, or what the start has to be
 * compared with.
 */
interface SealingBreaker {
  readonly openSince: Date | undefined;
  failed(error: unknown): void;
  succeeded(): void;
  /** Resolves when it is time to try again, or when another lane has succeeded. */
  pause(stop: AbortSignal): Promise<void>;
}

/** Says when it opens and when it closes, and nothing in between. */
export function createSealingBreaker(clock: Clock, log: Log): SealingBreaker {
  const closed = createWakeSignal();
  let openSince: Date | undefined;
  let nextPauseMs = pauseMs.first;
  return {
    get openSince() {
      return openSince;
    },
    failed(error) {
      if (openSince !== undefined) return;
      openSince = clock();
      log.warn({ err: error }, 'sealing pauses');
    },
    succeeded() {
      if (openSince === undefined) return;
      const pausedMs = clock().getTime() - openSince.getTime();
      openSince = undefined;
      nextPauseMs = pauseMs.first;
      log.info({ pausedMs }, 'sealing goes on');
      closed.wake();
    },
    async pause(stop) {
      const ms = nextPauseMs;
      nextPauseMs = Math.min(nextPauseMs * 2, pauseMs.last);
      await closed.wait(ms, stop);
    },
  };
}
