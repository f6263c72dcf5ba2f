import { setImmediate, setTimeout } from 'node:timers/promises';
import { createTurns } from './turns.ts';

export type HeavyWork = ReturnType<typeof createHeavyWork>;

/**
 * Creates a queue of work that blocks the event loop, such as the parsing of large texts. After
 * each piece of work the queue rests for as long as the work took, so that at least half of the
 * time remains for everything else.
 */
export function createHeavyWork() {
  const turns = createTurns(1);
  return {
    /** Runs `work` when its turn comes; settles as `work` does, before the rest. */
    run<T>(work: () => T): Promise<T> {
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      void turns.take(async () => {
        // Lets whatever is pending run between two pieces of work.
        await setImmediate();
        const startedAt = performance.now();
        try {
          resolve(work());
        } catch (error) {
          reject(error);
        }
        await setTimeout(performance.now() - startedAt);
      });
      return promise;
    },
  };
}
