import { setImmediate, setTimeout } from 'node:timers/promises';
import { createTurns } from './turns.ts';

export type HeavyWork = ReturnType<typeof createHeavyWork>;

/**
 * The length of a JSON text above which work on it is done in turns. Work on a smaller text takes
 * less time than it would wait.
 */
export const largeTextLength = 2 ** 14;

/** Runs a piece of work and settles as it does: at once, or when its turn comes. */
export type Steps = <T>(work: () => T) => Promise<T>;

const atOnce: Steps = async (work) => work();

/**
 * Creates a queue of work that blocks the event loop, such as the parsing of large texts. After
 * each piece of work the queue rests for as long as the work took, so that at least half of the
 * time remains for everything else.
 */
export function createHeavyWork() {
  const turns = createTurns(1);

  /** Runs `work` when its turn comes; settles as `work` does, before the rest. */
  function run<T>(work: () => T): Promise<T> {
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
  }

  return {
    run,
    /** Returns how to run the pieces of work on a value: those on a small one wait for no turn. */
    stepsFor: (isLarge: boolean): Steps => (isLarge ? run : atOnce),
  };
}
