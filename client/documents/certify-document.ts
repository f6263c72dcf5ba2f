import type { AuditProof } from '../proofs/audit-proof.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { VaultError } from '../errors/vault-error.ts';
import type { Documents } from './documents.ts';

/**
 * Seals a document and resolves to the proof, also when it is sealed already. Waits a while for an
 * HSM that is away, then throws VaultError proof_not_ready: the document is sealed, and calling again
 * gives the proof.
 */
export async function certifyDocument(
  { documents, proofs }: { documents: Documents; proofs: Proofs },
  id: string,
): Promise<AuditProof> {
  try {
    return (await documents.certify(id)).proof;
  } catch (error) {
    const proofId = error instanceof VaultError ? error.body['proofId'] : undefined;
    if (typeof proofId !== 'string') throw error;
    return proofs.get(proofId);
  }
}
