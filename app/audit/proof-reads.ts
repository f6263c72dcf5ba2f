import type { Caller } from '../http/requests/caller.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import type { AuditProof, Verdict } from '../proof/proof.ts';
import type { Tallies } from './tallies/tallies.ts';
import type { Verification } from './verification/verification.ts';
import type { Proofs } from './proofs/proofs.ts';

/** Number of restores that users are shown. */
const listedRestores = 10;

interface ProofReadsOptions {
  readonly tallies: Tallies;
  readonly proofs: Proofs;
  readonly verification: Verification;
}

export type ProofReads = ReturnType<typeof createProofReads>;

/**
 * Creates the service by which callers read and verify audit proofs. The reads of a caller are
 * recorded as one audit entry per minute, which holds the number of requests.
 */
export function createProofReads({ tallies, proofs, verification }: ProofReadsOptions) {
  /**
   * Waits for `read`, records durably that the caller read audit proofs, and resolves with the
   * result of `read`. Rejects if the read cannot be recorded. A read that rejects is not recorded.
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

    /** Returns the audit proof of an entry. Throws the errors of Proofs.get. */
    get: ({ caller }: ServiceRequest, entryId: string): Promise<AuditProof> =>
      record(caller, proofs.get(caller, entryId)),

    /** Returns the audit proofs of the last restores of the vault from a backup, newest first. */
    restores: ({ caller }: ServiceRequest): Promise<AuditProof[]> =>
      record(caller, proofs.findRestores(listedRestores)),

    /** Verifies an audit entry. Throws the errors of Verification.verify. */
    verify: ({ caller }: ServiceRequest, entryId: string): Promise<Verdict> =>
      record(caller, verification.verify(caller, entryId)),

    /** Verifies several audit entries. */
    verifyBatch: ({ caller }: ServiceRequest, entryIds: readonly string[]) =>
      record(caller, verification.verifyBatch(caller, entryIds)),

    /** Verifies the newest audit entries that the caller may see. */
    verifyNewest: ({ caller }: ServiceRequest, limit: number) =>
      record(caller, verification.verifyNewest(caller, limit)),
  };
}
