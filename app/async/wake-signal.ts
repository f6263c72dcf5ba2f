/** Wakes a polling loop when there is work. A wake without a waiter ends the next wait at once. */
export interface WakeSignal {
  readonly wake: () => void;
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
    async wait(ms, stop) {
      if (pending || stop.aborted) {
        pending = false;
        return;
      }
      const { promise: over, resolve } = Promise.withResolvers<void>();
      const resume = () => resolve();
      const timer = setTimeout(resume, ms);
      stop.addEventListener('abort', resume);
      waiters.add(resume);
      await over;
      clearTimeout(timer);
      stop.removeEventListener('abort', resume);
      waiters.delete(resume);
    },
  };
}

/** Resolves after `ms` or as soon as `stop` aborts. */
export function sleep(ms: number, stop: AbortSignal): Promise<void> {
  return createWakeSignal().wait(ms, stop);
}
