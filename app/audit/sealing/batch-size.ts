import { maxBatchEntries } from '../../../signer/protocol/protocol.ts';

/** A batch is to end well before the signer's client gives up and its lease ends. */
const targetMs = 2_000;

/** How many entries to send to the signer at once, by the rate at which it signed before. */
interface BatchSize {
  readonly current: number;
  succeeded(entries: number, ms: number): void;
  failed(): void;
}

/**
 * An HSM in the network may sign ten entries a second or ten thousand. Starts with the most; a batch
 * that fails halves the next, and one that takes too long shrinks it to what fits.
 */
export function createBatchSize(): BatchSize {
  let current = maxBatchEntries;
  return {
    get current() {
      return current;
    },
    succeeded(entries, ms) {
      const fitting = Math.floor((entries * targetMs) / Math.max(ms, 1));
      // No faster than doubled: one quick batch of few entries says little.
      current = Math.min(maxBatchEntries, Math.max(1, Math.min(fitting, current * 2)));
    },
    failed() {
      current = Math.max(1, Math.floor(current / 2));
    },
  };
}
