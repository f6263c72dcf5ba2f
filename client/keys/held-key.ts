import { wipe, type Bytes } from '../bytes/bytes.ts';

/**
 * The key by which a session opens the master envelope. While a new password is on its way, and for
 * good where no answer came, it is one of two.
 */
export interface HeldKey {
  /** Likeliest first. */
  candidates(): readonly Bytes[];
  /** From now on this one may be it too. */
  add(key: Bytes): void;
  /** This one it is; the others are zeroed. */
  settle(key: Bytes): void;
  /** Zeroes all. */
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
