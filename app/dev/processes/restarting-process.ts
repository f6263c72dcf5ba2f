import { setTimeout as delay } from 'node:timers/promises';
import { describeExit, type GuardedProcess } from './guarded-process.ts';

const firstPauseMs = 250;
const longestPauseMs = 10_000;
/**
 * Milliseconds after which a running process counts as healthy. After a healthy process has ended,
 * the pause before its restart is the shortest again.
 */
const healthyAfterMs = 30_000;

export interface RestartingProcess {
  /** Process id of the running process, or of the last one if none is running. */
  readonly pid: number;
  /** Stops the process and does not restart it. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

/**
 * Starts a process and restarts it whenever it ends unexpectedly, after a pause that doubles each
 * time up to 10 s. Resolves once the first start has succeeded and throws if it fails. Later failed
 * starts are reported to `onEvent` and retried.
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
      onEvent(`ended by itself (${describeExit(exit)}); restarting in ${pauseMs} ms`);
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
      // A restart that was in progress may have started another process in the meantime.
      await current.stop(options);
    },
  };
}
