import type { Caller } from '../../http/requests/caller.ts';
import type { Tallies } from '../tallies/tallies.ts';

/** Who reads proofs: one entry a caller and minute, with the number of requests. */
export interface ProofReads {
  /**
   * Resolves to what is read, once it is durable that the caller read it: a read that cannot be
   * recorded is not answered. One that throws is none.
   */
  record<T>(caller: Caller, read: Promise<T>): Promise<T>;
}

export function createProofReads({ tallies }: { readonly tallies: Tallies }): ProofReads {
  return {
    async record(caller, read) {
      const found = await read;
      const { userId, tenantId } = caller;
      await tallies.add({
        action: 'audit.read',
        actor: { type: 'user', id: userId },
        owner: { userId, tenantId },
        resource: { type: 'account', id: userId },
        data: {},
      });
      return found;
    },
  };
}
