import { Worker } from 'node:worker_threads';
import type { SignedTexts } from './verify-worker.ts';

export type Verifier = ReturnType<typeof startVerifier>;

/**
 * Starts a thread that verifies signatures, because verification takes longer than all other steps
 * of sealing together. Each message carries a whole batch, since one message per signature would
 * double the cost.
 */
export function startVerifier() {
  const worker = new Worker(new URL('./verify-worker.ts', import.meta.url));
  const waiting: ((valid: boolean) => void)[] = [];
  worker.on('message', (valid: boolean) => waiting.shift()?.(valid));
  return {
    /** Resolves with true if every text has a valid signature. */
    verify(signed: SignedTexts): Promise<boolean> {
      return new Promise((resolve) => {
        waiting.push(resolve);
        worker.postMessage(signed, []);
      });
    },

    async close(): Promise<void> {
      await worker.terminate();
    },
  };
}
