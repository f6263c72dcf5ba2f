import { createWakeSignal } from './wake-signal.ts';

/**
 * Runs `work` in a loop, with a pause of `pauseMs` before each run, until stopped. A run that fails
 * is reported to `onFailure` and does not end the loop.
 */
export function repeat(
  pauseMs: number,
  work: () => Promise<void>,
  onFailure: (error: unknown) => void = () => undefined,
) {
  const stopping = new AbortController();
  const signal = createWakeSignal();

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await signal.wait(pauseMs, stopping.signal);
      if (!stopping.signal.aborted) await work().catch(onFailure);
    }
  }

  const running = run();
  return {
    /** Skips the pause before the next run; a run under way is finished first. */
    now: signal.wake,
    /** Ends the loop and resolves once the run under way has finished. */
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
