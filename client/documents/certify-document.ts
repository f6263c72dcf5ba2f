import type { AuditProof } from '../proofs/proof-format.ts';
import type { Proofs } from '../proofs/proofs.ts';
import { VaultError } from '../errors/vault-error.ts';
import type { Documents } from './documents.ts';

/**
 * Seals a document and resolves with its audit proof, even if the document is already sealed. If
 * the HSM is unavailable, retries for a while and then throws VaultError proof_not_ready. The vault
 * has recorded the seal by then, so a later call resolves with the proof.
 */
export async function certifyDocument(
  { documents, proofs }: { readonly documents: Documents; readonly proofs: Proofs },
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
