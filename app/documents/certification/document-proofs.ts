import type { AuditProof } from '../../proof/proof.ts';
import type { ProofReads } from '../../audit/proof-reads.ts';
import type { Proofs } from '../../audit/proofs/proofs.ts';
import type { Database, Tx } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { cutPage } from '../../http/responses/page.ts';
import { loadOwner } from '../records/document-rows.ts';

interface DocumentProofsOptions {
  readonly db: Database;
  readonly proofs: Proofs;
  readonly proofReads: ProofReads;
}

interface ListPage {
  readonly limit: number;
  /** The last version number on the previous page. */
  readonly cursor?: number | undefined;
}

interface ProofsPage {
  readonly proofs: AuditProof[];
  /** The last version number on this page; undefined if no further page exists. */
  readonly cursor: number | undefined;
}

export type DocumentProofs = ReturnType<typeof createDocumentProofs>;

/** Creates the service that returns the proofs of documents. */
export function createDocumentProofs({ db, proofs, proofReads }: DocumentProofsOptions) {
  async function read(caller: Caller, id: string, { limit, cursor }: ListPage) {
    const { owner, sealed } = await db.asUser(caller, async (tx) => ({
      owner: await loadOwner(tx, caller, id),
      sealed: await findSealed(tx, id, { limit: limit + 1, cursor }),
    }));
    // The audit entries belong to the document's owner, but everyone who may read the document may
    // also read the proofs of these entries.
    const reader = { ...caller, ...owner };
    const sizes = await proofs.findSizes(reader, toProofIds(sealed));
    const page = cutPage(sealed, {
      limit,
      cursorOf: ({ version }) => version,
      // The quotes in an entry's text are escaped in the response.
      bytesOf: ({ proofId }) => 2 * (sizes.get(proofId) ?? 0),
    });
    const found = await proofs.list(reader, toProofIds(page.rows));
    const newestId = page.rows.at(-1)?.proofId;
    const isWhole = cursor === undefined && page.cursor === undefined;
    if (found.length > 0 || newestId === undefined || !isWhole) {
      return { proofs: found, cursor: page.cursor };
    }
    return { proofs: [await proofs.get(reader, newestId)], cursor: undefined };
  }

  return {
    /**
     * Returns a page of the audit proofs of a document's sealed versions, oldest first, if the
     * caller may read the document. Leaves out versions whose audit entry is not signed yet. Throws
     * not_found. If versions are sealed but none has a proof yet, throws as `Proofs.get` does for
     * the newest sealed version.
     */
    list: (request: ServiceRequest, id: string, page: ListPage): Promise<ProofsPage> =>
      proofReads.record(request.caller, read(request.caller, id, page)),
  };
}

interface SealedVersion {
  readonly version: number;
  readonly proofId: string;
}

function toProofIds(sealed: readonly SealedVersion[]): string[] {
  return sealed.map(({ proofId }) => proofId);
}

function findSealed(
  tx: Tx,
  documentId: string,
  { limit, cursor = 0 }: ListPage,
): Promise<SealedVersion[]> {
  return tx
    .selectFrom('document_versions')
    .select(['version', 'proof_id as proofId'])
    .where('document_id', '=', documentId)
    .where('proof_id', 'is not', null)
    .where('version', '>', cursor)
    .orderBy('version')
    .limit(limit)
    .$narrowType<{ readonly proofId: string }>()
    .execute();
}
