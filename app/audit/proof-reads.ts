import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { AuditProof, Verdict } from '../proof/proof.ts';
import type { Tallies } from './tallies/tallies.ts';
import type { Verification } from './verification/verification.ts';
import type { Proofs } from './proofs/proofs.ts';

interface ProofReadsOptions {
  readonly tallies: Tallies;
  readonly proofs: Proofs;
  readonly verification: Verification;
}

export type ProofReads = ReturnType<typeof createProofReads>;

/**
 * Creates the service by which callers read and verify proofs. Reads are recorded: one entry for
 * each caller and minute, with the number of requests.
 */
export function createProofReads({ tallies, proofs, verification }: ProofReadsOptions) {
  /**
   * Resolves with what is read, once it is durable that the caller read it: a read that cannot be
   * recorded is refused. A read that throws is not recorded.
   */
  async function record<T>({ userId, tenantId }: Caller, read: Promise<T>): Promise<T> {
    const found = await read;
    await tallies.add({
      action: 'audit.read',
      actor: { type: 'user', id: userId },
      owner: { userId, tenantId },
      resource: { type: 'account', id: userId },
      data: {},
    });
    return found;
  }

  return {
    record,

    /** Returns the proof of an entry. Throws as Proofs.get does. */
    get: ({ caller }: ServiceRequest, entryId: string): Promise<AuditProof> =>
      record(caller, proofs.get(caller, entryId)),

    /** Verifies an entry. Throws as Verification.verify does. */
    verify: ({ caller }: ServiceRequest, entryId: string): Promise<Verdict> =>
      record(caller, verification.verify(caller, entryId)),

    /** Verifies several entries. */
    verifyBatch: ({ caller }: ServiceRequest, entryIds: readonly string[]) =>
      record(caller, verification.verifyBatch(caller, entryIds)),

    /** Verifies the newest entries that the caller may see. */
    verifyNewest: ({ caller }: ServiceRequest, limit: number) =>
      record(caller, verification.verifyNewest(caller, limit)),
  };
}
