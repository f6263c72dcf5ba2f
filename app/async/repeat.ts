import { createWakeSignal } from './wake-signal.ts';

interface Repetition {
  /** Does it at once, after what is under way. */
  readonly now: () => void;
  /** Finishes what is under way. */
  stop(): Promise<void>;
}

/** Does work again and again after a pause each, whatever becomes of it, until stopped. */
export function repeat(
  pauseMs: number,
  work: () => Promise<void>,
  onFailure: (error: unknown) => void = () => undefined,
): Repetition {
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
    now: signal.wake,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}
