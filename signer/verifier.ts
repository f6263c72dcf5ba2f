import type { KeyObject } from 'node:crypto';
import { Worker } from 'node:worker_threads';

/** `signature` is ECDSA over SHA3-256 of the UTF-8 text: DER, base64. */
export type SignedText = { text: string; signature: string; publicKey: KeyObject };

export type Verifier = {
  /** Whether each of the texts is rightly signed, in their order. */
  verify(signed: readonly SignedText[]): Promise<readonly boolean[]>;
  close(): Promise<void>;
};

/**
 * Verification costs more than all else about a seal: it has a thread of its own, and takes whole
 * batches, since handing over each signature alone costs as much again.
 */
export function startVerifier(): Verifier {
  const worker = new Worker(new URL('./verify-worker.ts', import.meta.url));
  const waiting: ((valid: readonly boolean[]) => void)[] = [];
  worker.on('message', (valid: readonly boolean[]) => waiting.shift()?.(valid));
  return {
    verify(signed) {
      return new Promise((resolve) => {
        waiting.push(resolve);
        worker.postMessage(signed, []);
      });
    },

    async close() {
      await worker.terminate();
    },
  };
}
