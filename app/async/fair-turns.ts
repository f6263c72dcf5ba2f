import { createKeyedTurns, createTurns } from './turns.ts';

/** Thrown if a queue is full: for the key of the work, or for the work of all keys together. */
export class QueueFull extends Error {
  override name = 'QueueFull';
  readonly scope: 'key' | 'all';

  constructor(scope: 'key' | 'all') {
    super(`the queue is full for ${scope === 'key' ? 'this key' : 'all keys together'}`);
    this.scope = scope;
  }
}

interface FairTurnsOptions {
  /** How many pieces of work run at a time: at most one of each key. */
  readonly atOnce: number;
  /** How many pieces of work of one key may run and wait. */
  readonly placesPerKey: number;
  /** How many pieces of work of all keys may run and wait. */
  readonly places: number;
}

export type FairTurns = ReturnType<typeof createFairTurns>;

/**
 * Creates a queue that is fair between keys, such as users. Each key has at most one piece of work
 * in the queue of all, so the first work of a key waits for one turn of each other key, however
 * much work these have.
 */
export function createFairTurns({ atOnce, placesPerKey, places }: FairTurnsOptions) {
  const ofKeys = createKeyedTurns(1);
  const ofAll = createTurns(atOnce);
  const taken = new Map<string, number>();
  let takenInAll = 0;

  function takePlace(key: string): void {
    const own = taken.get(key) ?? 0;
    if (own >= placesPerKey) throw new QueueFull('key');
    if (takenInAll >= places) throw new QueueFull('all');
    taken.set(key, own + 1);
    takenInAll += 1;
  }

  function leavePlace(key: string): void {
    const own = taken.get(key) ?? 0;
    if (own > 1) taken.set(key, own - 1);
    else taken.delete(key);
    takenInAll -= 1;
  }

  return {
    /**
     * Runs `work` when the turn of `key` comes; settles as `work` does. Throws QueueFull at once if
     * the key or the queue has no place left.
     */
    async take<T>(key: string, work: () => Promise<T>): Promise<T> {
      takePlace(key);
      try {
        return await ofKeys.take(key, () => ofAll.take(work));
      } finally {
        leavePlace(key);
      }
    },
  };
}
