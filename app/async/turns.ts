/**
 * Creates a queue that runs up to `atOnce` pieces of work at a time; further work waits in order of
 * arrival.
 */
export function createTurns(atOnce: number) {
  const waiting: (() => void)[] = [];
  let free = atOnce;
  return {
    /** Runs `work` when its turn comes; settles as `work` does. */
    async take<T>(work: () => Promise<T>): Promise<T> {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) free += 1;
        else next();
      }
    },
  };
}
