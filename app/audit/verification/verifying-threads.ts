import { createThreadPool } from '../../async/thread-pool.ts';
import type { Verdict } from '../../proof/proof.ts';
import type { VerifiableProof } from './verifying-thread.ts';

export type VerifyingThreads = ReturnType<typeof createVerifyingThreads>;

/**
 * Proofs in a slice: some milliseconds of work, so that a batch keeps all threads busy to its end.
 */
const sliceLength = 100;
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

/**
 * Creates threads that verify many audit proofs off the event loop, and apart from the thread pool
 * which OpenSSL needs for logins.
 */
export function createVerifyingThreads({ count }: { readonly count: number }) {
  const threads = createThreadPool<readonly VerifiableProof[], readonly Verdict[]>({
    program: new URL('./verifying-thread.ts', import.meta.url),
    count,
    resourceLimits,
  });

  return {
    /**
     * Resolves with the verdicts in the order of the proofs; waits while others are verified.
     * Throws when a thread dies.
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
