import { maxBatchEntries } from '../../../signer/protocol/protocol.ts';

/** A batch should end well before the signer's client times out and the lease expires. */
const targetMs = 2_000;

/**
 * Adapts the number of entries in a batch to the rate of the HSM, which may sign ten entries a
 * second or ten thousand. Starts with the maximum; a batch that fails halves the next one, and a
 * batch that takes too long shrinks it to what fits.
 */
export function createBatchSize() {
  let current = maxBatchEntries;
  return {
    /** How many entries to send to the signer at once. */
    get current(): number {
      return current;
    },
    /** Reports a batch that was signed in `ms`. */
    succeeded(entries: number, ms: number): void {
      const fitting = Math.floor((entries * targetMs) / Math.max(ms, 1));
      // At most doubles, since one quick batch of few entries proves little.
      current = Math.min(maxBatchEntries, Math.max(1, Math.min(fitting, current * 2)));
    },
    /** Reports a batch that failed. */
    failed(): void {
      current = Math.max(1, Math.floor(current / 2));
    },
  };
}
