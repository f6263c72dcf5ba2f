import type { AuditProof } from '../../proof/proof.ts';
import type { ProofReads } from '../../audit/proofs/proof-reads.ts';
import type { Proofs } from '../../audit/proofs/proofs.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';
import { loadDocument, ownerOf } from '../records/document-rows.ts';

export interface DocumentProofs {
  /**
   * The proofs of the sealed versions, oldest first, for whoever may read the document. One that
   * waits for its signature is left out. Throws not_found, and where there is none yet what
   * Proofs.get throws of the newest version's.
   */
  list(caller: Caller, id: string): Promise<AuditProof[]>;
}

interface DocumentProofsOptions {
  readonly db: Database;
  readonly proofs: Proofs;
  readonly proofReads: ProofReads;
}

export function createDocumentProofs(options: DocumentProofsOptions): DocumentProofs {
  const { db, proofs, proofReads } = options;

  async function read(caller: Caller, id: string): Promise<AuditProof[]> {
    const { owner, proofIds } = await db.asUser(caller, (tx) => loadProofIds(tx, id));
    // The entries are the owner's, and their proofs everyone's who may read the document.
    const reader = { ...caller, ...owner };
    const found = await proofs.list(reader, proofIds);
    const newestId = proofIds.at(-1);
    if (found.length > 0 || newestId === undefined) return found;
    return [await proofs.get(reader, newestId)];
  }

  return { list: (caller, id) => proofReads.record(caller, read(caller, id)) };
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
