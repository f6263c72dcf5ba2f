import { wipe, type Bytes } from '../bytes/bytes.ts';

/**
 * The password key with which a session opens the master envelope. While a change of the password
 * is under way, and for good if its response was lost, either of two keys may be the right one.
 */
export interface HeldKey {
  /** Returns the keys to try, the likeliest first; none after `forget`. */
  candidates(): readonly Bytes[];
  /** Adds a key that may be the right one from now on. */
  add(key: Bytes): void;
  /** Keeps this key only and zeroes the others. */
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
