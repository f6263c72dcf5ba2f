import type { KeyObject } from 'node:crypto';
import { Worker } from 'node:worker_threads';

/** `signatures` are of `texts`, in their order: ECDSA over SHA3-256 of the UTF-8: DER, base64. */
export type SignedTexts = {
  publicKey: KeyObject;
  texts: readonly string[];
  signatures: readonly string[];
};

export type Verifier = {
  /** Whether every one of the texts is rightly signed. */
  verify(signed: SignedTexts): Promise<boolean>;
  close(): Promise<void>;
};

/**
 * Verification costs more than all else about a seal: it has a thread of its own, and takes whole
 * batches, since handing over each signature alone costs as much again.
 */
export function startVerifier(): Verifier {
  const worker = new Worker(new URL('./verify-worker.ts', import.meta.url));
  const waiting: ((valid: boolean) => void)[] = [];
  worker.on('message', (valid: boolean) => waiting.shift()?.(valid));
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
