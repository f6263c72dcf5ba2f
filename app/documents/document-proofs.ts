import type { AuditProof } from '../audit/proof.ts';
import type { Proofs } from '../audit/proofs.ts';
import type { Database, Tx } from '../db/database.ts';
import { AppError } from '../errors.ts';
import type { Caller } from '../http/caller.ts';
import { loadDocument, ownerOf } from './document-rows.ts';

export interface DocumentProofs {
  /**
   * The proofs of the sealed versions, oldest first, for whoever may read the document. One that
   * waits for its signature is left out. Throws not_found, and proof_not_ready where all wait.
   */
  list(caller: Caller, id: string): Promise<AuditProof[]>;
}

interface DocumentProofsOptions {
  readonly db: Database;
  readonly proofs: Proofs;
}

export function createDocumentProofs({ db, proofs }: DocumentProofsOptions): DocumentProofs {
  async function findProof(caller: Caller, proofId: string): Promise<AuditProof | undefined> {
    try {
      return await proofs.get(caller, proofId);
    } catch (error) {
      if (error instanceof AppError && error.code === 'proof_not_ready') return undefined;
      throw error;
    }
  }

  return {
    async list(caller, id) {
      const { owner, proofIds } = await db.asUser(caller, (tx) => loadProofIds(tx, id));
      const found: AuditProof[] = [];
      for (const proofId of proofIds) {
        // The entries are the owner's, and their proofs everyone's who may read the document.
        const proof = await findProof({ ...caller, ...owner }, proofId);
        if (proof !== undefined) found.push(proof);
      }
      if (found.length === 0 && proofIds.length > 0) {
        throw new AppError('proof_not_ready', { retryAfterSeconds: 1 });
      }
      return found;
    },
  };
}

async function loadProofIds(tx: Tx, id: string) {
  const document = await loadDocument(tx, id);
  const sealed = await tx
    .selectFrom('document_versions')
    .select('proof_id')
    .where('document_id', '=', id)
    .orderBy('version')
    .execute();
  const proofIds = sealed.flatMap(({ proof_id: proofId }) => (proofId === null ? [] : [proofId]));
  return { owner: ownerOf(document), proofIds };
}
