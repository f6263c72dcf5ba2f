import type { StoredKey } from './key-objects.ts';

/**
 * Milliseconds, longer than a signer takes to decide whether it keeps or destroys a new key, even
 * on a slow HSM.
 */
const liveMs = 5_000;

/**
 * Returns whether the signers that created these keys, which share one label, may still destroy one
 * of them.
 */
export type ContestWatch = (keys: readonly StoredKey[]) => boolean;

/**
 * Creates a watch over contests. In a contest, several keys share one label because signers created
 * them concurrently. Once the same keys have shared the label for 5 s, the contest counts as over:
 * the signers that created the keys have died. A wrong result is harmless: at worst a generation
 * number stays unused.
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
