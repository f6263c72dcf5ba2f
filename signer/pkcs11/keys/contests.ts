import type { StoredKey } from './key-objects.ts';

/** Longer than a signer takes to keep or destroy a key it has just created, even on a slow HSM. */
const liveMs = 5_000;

/** Tells whether the creators of these keys, which share one label, may still destroy one. */
export type ContestWatch = (keys: readonly StoredKey[]) => boolean;

/**
 * Creates a watch over contests, in which several keys share one label. A contest counts as over,
 * and its keys as left behind by signers that died, once the same keys were in it for 5 s. A wrong
 * verdict is harmless: at worst a generation number stays unused.
 */
export function watchContests(now: () => number): ContestWatch {
  const seenAt = new Map<string, number>();
  return (keys) => {
    const ids = keys.map(({ id }) => id.toString('hex'));
    const contest = ids.toSorted().join();
    const since = seenAt.get(contest) ?? now();
    seenAt.set(contest, since);
    return keys.length > 1 && now() - since < liveMs;
  };
}
