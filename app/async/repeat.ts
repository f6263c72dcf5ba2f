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

interface Pauses {
  /** Milliseconds after a look that found something, or failed. */
  readonly busyMs: number;
  /** The greatest pause, which doubles after each look that found nothing. */
  readonly idleMs: number;
}

/**
 * Looks for work in a loop until stopped, and less often while there is none. `look` resolves with
 * whether it found something. A look that fails is reported to `onFailure` and does not end the
 * loop.
 */
export function poll(
  { busyMs, idleMs }: Pauses,
  look: () => Promise<boolean>,
  onFailure: (error: unknown) => void,
) {
  const stopping = new AbortController();
  const { signal: stop } = stopping;
  const turn = createWakeSignal();
  const news = createWakeSignal();

  async function tryToLook(): Promise<boolean> {
    try {
      return await look();
    } catch (error) {
      onFailure(error);
      return true;
    }
  }

  async function run(): Promise<void> {
    let pauseMs = busyMs;
    while (!stop.aborted) {
      await turn.wait(busyMs, stop);
      if (pauseMs > busyMs) await news.wait(pauseMs - busyMs, stop);
      if (stop.aborted) return;
      pauseMs = (await tryToLook()) ? busyMs : Math.min(2 * pauseMs, idleMs);
    }
  }

  const running = run();
  return {
    /** Skips the pause before the next look; a look under way is finished first. */
    now(): void {
      turn.wake();
      news.wake();
    },
    /** Tells that there may be work: the pause before the next look is that of a busy time. */
    soon: news.wake,
    /** Ends the loop and resolves once the look under way has finished. */
    async stop(): Promise<void> {
      stopping.abort();
      await running;
    },
  };
}
