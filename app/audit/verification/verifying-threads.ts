import { createThreadPool } from '../../async/thread-pool.ts';
import type { Verdict } from '../../proof/proof.ts';
import type { VerifiableProof } from './verifying-thread.ts';

export type VerifyingThreads = ReturnType<typeof createVerifyingThreads>;

/**
 * Number of proofs in a slice. A slice takes only some milliseconds, so that all threads stay busy
 * until the end of a batch.
 */
const sliceLength = 100;
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

/**
 * Creates threads that verify audit proofs outside of the event loop, and outside of the thread
 * pool of libuv, in which OpenSSL computes for logins.
 */
export function createVerifyingThreads({ count }: { readonly count: number }) {
  const threads = createThreadPool<readonly VerifiableProof[], readonly Verdict[]>({
    program: new URL('./verifying-thread.ts', import.meta.url),
    count,
    resourceLimits,
  });

  return {
    /**
     * Resolves with the verdicts in the order of the proofs; waits while all threads are busy.
     * Rejects if a thread dies.
     */
    async verify(proofs: readonly VerifiableProof[]): Promise<Verdict[]> {
      const slices: VerifiableProof[][] = [];
      for (let at = 0; at < proofs.length; at += sliceLength) {
        slices.push(proofs.slice(at, at + sliceLength));
      }
      return (await Promise.all(slices.map((slice) => threads.run(slice)))).flat();
    },

    close: (): Promise<void> => threads.close(),
  };
}
