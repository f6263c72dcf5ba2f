import { setTimeout as delay } from 'node:timers/promises';
import { describeExit, type GuardedProcess } from './guarded-process.ts';

const firstPauseMs = 250;
const longestPauseMs = 10_000;
/** A process that lived this long is healthy: its next end starts with the first pause again. */
const healthyAfterMs = 30_000;

export interface RestartingProcess {
  /** Of the one that runs now, or ran last. */
  readonly pid: number;
  /** Ends the process and the restarts. */
  stop(options?: { graceMs?: number }): Promise<void>;
}

/**
 * Runs a process and starts it again whenever it ends by itself, with growing pauses.
 * Throws when the first start fails; later failures are told to `onEvent` and tried again.
 */
export async function keepRunning(
  start: (signal: AbortSignal) => Promise<GuardedProcess>,
  onEvent: (message: string) => void,
  startSignal?: AbortSignal,
): Promise<RestartingProcess> {
  const stopping = new AbortController();
  let current = await start(startSignal ?? stopping.signal);

  const watch = async () => {
    let pauseMs = firstPauseMs;
    let startedAt = performance.now();
    while (!stopping.signal.aborted) {
      const exit = await current.exited;
      if (stopping.signal.aborted) return;
      if (performance.now() - startedAt > healthyAfterMs) pauseMs = firstPauseMs;
      onEvent(`ended by itself (${describeExit(exit)}); starting it again in ${pauseMs} ms`);
      await delay(pauseMs, undefined, { signal: stopping.signal });
      pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      startedAt = performance.now();
      try {
        current = await start(stopping.signal);
        onEvent('is running again');
      } catch (error) {
        if (!stopping.signal.aborted) onEvent(String(error));
      }
    }
  };
  const watching = watch().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });

  return {
    get pid() {
      return current.pid;
    },
    stop: async (options) => {
      stopping.abort();
      await current.stop(options);
      await watching;
      // A restart may just have succeeded.
      await current.stop(options);
    },
  };
}
