import type { AuditProof } from '../../proof/proof.ts';
import type { ProofReads } from '../../audit/proof-reads.ts';
import type { Proofs } from '../../audit/proofs/proofs.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { loadDocument, ownerOf } from '../records/document-rows.ts';

interface DocumentProofsOptions {
  readonly db: Database;
  readonly proofs: Proofs;
  readonly proofReads: ProofReads;
}

export type DocumentProofs = ReturnType<typeof createDocumentProofs>;

/** Creates the service that returns the proofs of documents. */
export function createDocumentProofs({ db, proofs, proofReads }: DocumentProofsOptions) {
  async function read(caller: Caller, id: string): Promise<AuditProof[]> {
    const { owner, proofIds } = await db.asUser(caller, (tx) => loadProofIds(tx, caller, id));
    // The audit entries belong to the document's owner, but everyone who may read the document may
    // also read the proofs of these entries.
    const reader = { ...caller, ...owner };
    const found = await proofs.list(reader, proofIds);
    const newestId = proofIds.at(-1);
    if (found.length > 0 || newestId === undefined) return found;
    return [await proofs.get(reader, newestId)];
  }

  return {
    /**
     * Returns the audit proofs of a document's sealed versions, oldest first, if the caller may
     * read the document. Leaves out versions whose audit entry is not signed yet. Throws not_found.
     * If versions are sealed but none has a proof yet, throws as `Proofs.get` does for the newest
     * sealed version.
     */
    list: (request: ServiceRequest, id: string): Promise<AuditProof[]> =>
      proofReads.record(request.caller, read(request.caller, id)),
  };
}

async function loadProofIds(tx: Tx, reader: Owner, id: string) {
  const document = await loadDocument(tx, reader, id);
  const sealed = await tx
    .selectFrom('document_versions')
    .select('proof_id')
    .where('document_id', '=', id)
    .where('user_id', '=', document.user_id)
    .where('tenant_id', '=', document.tenant_id)
    .orderBy('version')
    .execute();
  const proofIds = sealed.flatMap(({ proof_id: proofId }) => (proofId === null ? [] : [proofId]));
  return { owner: ownerOf(document), proofIds };
}
