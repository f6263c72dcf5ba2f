/** Wakes polling loops when there is work. A wake without a waiter ends the next wait at once. */
export interface WakeSignal {
  readonly wake: () => void;
  /** Wakes only the loop that has waited longest: for work that one loop can do. */
  readonly wakeOne: () => void;
  /** Resolves at the next wake, after `ms`, or when `stop` aborts. */
  wait(ms: number, stop: AbortSignal): Promise<void>;
}

export function createWakeSignal(): WakeSignal {
  const waiters = new Set<() => void>();
  let pending = false;
  return {
    wake() {
      pending = waiters.size === 0;
      for (const resume of waiters) resume();
    },
    wakeOne() {
      const [longest] = waiters;
      pending = longest === undefined;
      longest?.();
    },
    async wait(ms, stop) {
      if (pending || stop.aborted) {
        pending = false;
        return;
      }
      const { promise: over, resolve } = Promise.withResolvers<void>();
      const resume = () => {
        // The next wake is for another loop.
        waiters.delete(resume);
        resolve();
      };
      const timer = setTimeout(resume, ms);
      stop.addEventListener('abort', resume);
      waiters.add(resume);
      await over;
      clearTimeout(timer);
      stop.removeEventListener('abort', resume);
    },
  };
}

/** Resolves after `ms` or as soon as `stop` aborts. */
export function sleep(ms: number, stop: AbortSignal): Promise<void> {
  return createWakeSignal().wait(ms, stop);
}
