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
  /**
   * Resolves with the reason once the process is not restarted any more because of `mostRestarts`.
   */
  readonly gaveUp: Promise<string>;
  /** Stops the process and does not restart it. */
  stop(options?: { readonly graceMs?: number }): Promise<void>;
}

interface KeepRunningOptions {
  /** Starts the process; resolves once it is ready. */
  readonly start: (signal: AbortSignal) => Promise<GuardedProcess>;
  /** Called with each end and each restart. */
  readonly onEvent: (message: string) => void;
  /** Aborting this signal cancels the first start. */
  readonly signal?: AbortSignal | undefined;
  /** Maximum number of restarts without a healthy process in between; unlimited by default. */
  readonly mostRestarts?: number;
}

/**
 * Starts a process and restarts it whenever it ends unexpectedly, after a pause that doubles each
 * time up to 10 s. Resolves once the first start has succeeded and throws if it fails. Later failed
 * starts are reported to `onEvent` and retried.
 */
export async function keepRunning({
  start,
  onEvent,
  signal,
  mostRestarts = Infinity,
}: KeepRunningOptions): Promise<RestartingProcess> {
  const stopping = new AbortController();
  const givingUp = Promise.withResolvers<string>();
  let current = await start(signal ?? stopping.signal);
  let restarts = 0;

  async function watch(): Promise<void> {
    let isRestarted = true;
    while (isRestarted) {
      const since = performance.now();
      const exit = await current.exited;
      if (stopping.signal.aborted) return;
      if (performance.now() - since > healthyAfterMs) restarts = 0;
      isRestarted = await restart(`ended by itself (${describeExit(exit)})`);
    }
  }

  /** Resolves with whether the process runs again. `reason` says why it does not run. */
  async function restart(reason: string): Promise<boolean> {
    if (restarts >= mostRestarts) {
      const message = `gave up after ${restarts} restarts in a row: ${reason}`;
      onEvent(message);
      givingUp.resolve(message);
      return false;
    }
    const pauseMs = Math.min(firstPauseMs * 2 ** restarts, longestPauseMs);
    restarts += 1;
    // The other lines are the end of a log, which is of interest once nothing more is tried.
    const [headline] = reason.split('\n');
    onEvent(`${headline}; restarting in ${pauseMs} ms`);
    await delay(pauseMs, undefined, { signal: stopping.signal });
    try {
      current = await start(stopping.signal);
    } catch (error) {
      stopping.signal.throwIfAborted();
      return restart(error instanceof Error ? error.message : String(error));
    }
    onEvent('is running again');
    return true;
  }

  const watching = watch().catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });

  return {
    get pid() {
      return current.pid;
    },
    gaveUp: givingUp.promise,
    stop: async (options) => {
      stopping.abort();
      await current.stop(options);
      await watching;
      // A restart that was in progress may have started another process in the meantime.
      await current.stop(options);
    },
  };
}
