import type { StoredKey } from './key-objects.ts';

/** Longer than a signer takes to settle the key it has just made, on a slow HSM too. */
const liveMs = 5_000;

/** Whether these keys, which have one label, are still being settled by those who made them. */
export type ContestWatch = (keys: readonly StoredKey[]) => boolean;

/**
 * Takes a contest for over, and its keys for left behind by signers that died, once the same keys
 * have stood in it for 5 s. To be wrong about it does no harm: a number may then stay unused.
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
