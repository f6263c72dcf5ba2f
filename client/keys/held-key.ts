import { wipe, type Bytes } from '../bytes/bytes.ts';

/**
 * The password key with which a session opens the master envelope. During a change of the password,
 * and afterwards if its response was lost, either the old or the new key may be the right key.
 */
export interface HeldKey {
  /** Returns the keys to try, the likeliest first; no keys after `forget`. */
  candidates(): readonly Bytes[];
  /** Adds a key that may be the right key from now on; it is tried first. */
  add(key: Bytes): void;
  /** Keeps only this key and zeroes all other keys. */
  settle(key: Bytes): void;
  /** Zeroes all keys. */
  forget(): void;
}

export function holdKey(key: Bytes): HeldKey {
  let held: readonly Bytes[] = [key];

  function keepOnly(kept: readonly Bytes[]): void {
    for (const key of held) if (!kept.includes(key)) wipe(key);
    held = kept;
  }

  return {
    candidates: () => held,
    add(key) {
      held = [key, ...held];
    },
    settle: (key) => keepOnly([key]),
    forget: () => keepOnly([]),
  };
}
