type Turns = ReturnType<typeof createTurns>;

/** Lets `atOnce` pieces of work run at a time; the others wait in order of arrival. */
export function createTurns(atOnce: number) {
  const waiting: (() => void)[] = [];
  let free = atOnce;
  return {
    /** Runs `work` when its turn comes; resolves or rejects as it does. */
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

/** Limits concurrent work for each key on its own, such as for each user: `atOnce` at a time. */
export function createKeyedTurns(atOnce: number) {
  const taken = new Map<string, { readonly turns: Turns; takers: number }>();
  return {
    /** Runs `work` when a turn of `key` comes; resolves or rejects as it does. */
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
