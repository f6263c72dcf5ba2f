import { setTimeout } from 'node:timers/promises';

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
      if (pending) {
        pending = false;
        return;
      }
      const over = new AbortController();
      const { promise: woken, resolve: resume } = Promise.withResolvers<void>();
      waiters.add(resume);
      const signal = AbortSignal.any([stop, over.signal]);
      await Promise.race([woken, sleep(ms, signal)]);
      over.abort();
      waiters.delete(resume);
    },
  };
}

/** Resolves after `ms` or as soon as `stop` aborts. */
export async function sleep(ms: number, stop: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal: stop }).catch(() => undefined);
}
