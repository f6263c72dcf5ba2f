import type { RegisteredKey } from '../../proof/registered-key.ts';
import { createThreadPool } from '../../async/thread-pool.ts';
import type { AuditProof, Verdict } from '../../proof/proof.ts';

/** A proof, and the registered key of its key id. */
export interface VerifiableProof {
  readonly proof: AuditProof;
  readonly key: RegisteredKey | undefined;
}

/** Many proofs off the event loop, and not on the pool of OpenSSL's threads that logins need. */
export interface VerifyingThreads {
  /** In the order of the proofs. Waits while others are verified. Throws when a thread dies. */
  verify(proofs: readonly VerifiableProof[]): Promise<Verdict[]>;
  close(): Promise<void>;
}

/** Some milliseconds' work: the slices of a batch keep all threads busy to its end. */
const sliceLength = 100;
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 8 };

export function createVerifyingThreads({ count }: { readonly count: number }): VerifyingThreads {
  const threads = createThreadPool<readonly VerifiableProof[], readonly Verdict[]>({
    program: new URL('./verifying-thread.ts', import.meta.url),
    count,
    resourceLimits,
  });

  return {
    async verify(proofs) {
      const slices: VerifiableProof[][] = [];
      for (let at = 0; at < proofs.length; at += sliceLength) {
        slices.push(proofs.slice(at, at + sliceLength));
      }
      return (await Promise.all(slices.map((slice) => threads.run(slice)))).flat();
    },

    close: () => threads.close(),
  };
}
