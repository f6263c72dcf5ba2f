/** Maximum number of replaced values that are kept. */
const maxReplaced = 10_000;

interface Replaced<T> {
  /** The last moment at which the value was the present one. */
  readonly until: number;
  readonly value: T;
}

/**
 * Creates the history of values while looks are open: a shown value is compared with what was
 * remembered when its look began. Beyond 10,000 replaced values the oldest are dropped, so that a
 * look that is older still is compared with a later value, and may be refused.
 */
export function createHistory<T>() {
  /** The moments at which the open looks began. */
  const open = new Set<{ readonly since: number }>();
  const replaced = new Map<string, Replaced<T>[]>();
  let count = 0;

  function drop(name: string, kept: Replaced<T>[]): void {
    count -= (replaced.get(name)?.length ?? 0) - kept.length;
    if (kept.length === 0) replaced.delete(name);
    else replaced.set(name, kept);
  }

  return {
    /** Opens a look that begins at a moment; returns the function that ends it. */
    open(since: number): () => void {
      const look = { since };
      open.add(look);
      return () => {
        open.delete(look);
        const oldest = Math.min(...Array.from(open, ({ since: began }) => began));
        if (since >= oldest) return;
        for (const [name, values] of replaced) {
          drop(
            name,
            values.filter(({ until }) => until >= oldest),
          );
        }
      };
    },

    isOpen: () => open.size > 0,

    /** Keeps a value that is replaced after a moment. */
    keep(name: string, value: Replaced<T>): void {
      const [oldest] = replaced.keys();
      if (count >= maxReplaced && oldest !== undefined) drop(oldest, []);
      replaced.set(name, [...(replaced.get(name) ?? []), value]);
      count += 1;
    },

    /** Returns the value at a moment; undefined if it was not replaced since. */
    at: (name: string, moment: number): Replaced<T> | undefined =>
      replaced.get(name)?.find(({ until }) => until >= moment),

    clear(): void {
      replaced.clear();
      count = 0;
    },
  };
}
