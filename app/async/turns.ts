/** Lets a few work at once; the others wait in the order in which they came. */
interface Turns {
  take<T>(work: () => Promise<T>): Promise<T>;
}

export function createTurns(atOnce: number): Turns {
  const waiting: (() => void)[] = [];
  let free = atOnce;
  return {
    async take(work) {
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

/** Turns of each key by itself, such as a user. */
interface KeyedTurns {
  take<T>(key: string, work: () => Promise<T>): Promise<T>;
}

export function createKeyedTurns(atOnce: number): KeyedTurns {
  const taken = new Map<string, { readonly turns: Turns; takers: number }>();
  return {
    async take(key, work) {
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
