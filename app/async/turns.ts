type Turns = ReturnType<typeof createTurns>;

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

/**
 * Creates a queue for each key, such as for each user, that runs up to `atOnce` pieces of work at a
 * time.
 */
export function createKeyedTurns(atOnce: number) {
  const taken = new Map<string, { readonly turns: Turns; takers: number }>();
  return {
    /** Runs `work` when its turn in the queue of `key` comes; settles as `work` does. */
    async take<T>(key: string, work: () => Promise<T>): Promise<T> {
      const entry = taken.get(key) ?? { turns: createTurns(atOnce), takers: 0 };
      taken.set(key, entry);
      entry.takers += 1;
      try {
        return await entry.turns.take(work);
      } finally {
        entry.takers -= 1;
        if (entry.takers === 0) taken.delete(key);
      }
    },
  };
}
