import { Worker } from 'node:worker_threads';
import type { SignedTexts } from './verify-worker.ts';

export type Verifier = ReturnType<typeof startVerifier>;

/**
 * Starts the thread that verifies signatures, which costs more than the rest of sealing together.
 * It takes whole batches, since a message per signature would double the cost.
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
