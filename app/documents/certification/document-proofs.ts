import type { z } from 'zod';
import { readMonthsAway } from '../../audit-trail/archived-months.ts';
import type { ProofReads } from '../../audit/proof-reads.ts';
import type { Proofs } from '../../audit/proofs/proofs.ts';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { cutPage } from '../../http/responses/page.ts';
import { AppError } from '../../errors/app-error.ts';
import { loadOwner } from '../records/document-rows.ts';
import type { DocumentProofList } from './schema.ts';

interface DocumentProofsOptions {
  readonly db: Database;
  readonly proofs: Proofs;
  readonly proofReads: ProofReads;
}

interface ListPage {
  readonly limit: number;
  /** The number of the last entry on the previous page. */
  readonly cursor?: number | undefined;
}

type ProofsPage = Omit<z.input<typeof DocumentProofList>, 'documentId'> & {
  /** The number of the last entry on this page; undefined if no further page exists. */
  readonly cursor: number | undefined;
};

export type DocumentProofs = ReturnType<typeof createDocumentProofs>;

/** Creates the service that returns the proofs of documents. */
export function createDocumentProofs({ db, proofs, proofReads }: DocumentProofsOptions) {
  async function read(caller: Caller, id: string, asked: ListPage): Promise<ProofsPage> {
    const { limit, cursor: after } = asked;
    const { document, away } = await db.asUser(caller, async (tx) => ({
      document: await loadOwner(tx, caller, id),
      away: await readMonthsAway(tx),
    }));
    const { onlyVersion, createdAt, ...owner } = document;
    const archivedMonths = away.filter((month) => month >= createdAt.toISOString().slice(0, 7));
    // The audit entries belong to the document's owner. A recipient may read the proofs of the
    // seals of shared versions, but not those that tell with whom else the document is shared.
    const reader = { ...caller, ...owner };
    const action = owner.userId === caller.userId ? undefined : 'document.sealed';
    const resource = { type: 'document', id };
    const query = { limit: limit + 1, after, action, version: onlyVersion ?? undefined };
    const entries = await proofs.findOfResource(reader, resource, query);
    const { rows, cursor } = cutPage(entries, {
      limit,
      cursorOf: ({ seq }) => seq,
      // The quotes in an entry's text are escaped in the response.
      bytesOf: ({ bytes }) => 2 * bytes,
    });
    const ids = rows.map((row) => row.id);
    const found = await proofs.list(reader, ids);
    const newestId = ids.at(-1);
    const isWhole = after === undefined && cursor === undefined;
    if (found.length === 0 && isWhole) {
      // Nothing of the document is signed yet: say so, and when to ask again.
      if (newestId !== undefined) await proofs.get(reader, newestId);
      if (archivedMonths.length > 0) throw new AppError('entry_archived');
    }
    const signed = new Set(found.map((proof) => proof.id));
    const actions = rows.filter((row) => signed.has(row.id)).map((row) => [row.id, row.action]);
    const page = { proofs: found, actions: Object.fromEntries(actions), cursor };
    return archivedMonths.length === 0 ? page : { ...page, archivedMonths };
  }

  return {
    /**
     * Returns a page of the audit proofs of a document, oldest first: all of them to its owner,
     * those of its seals to a recipient. Leaves out entries that are not signed yet. Throws
     * not_found. If the document has entries but none has a proof, throws as `Proofs.get` does for
     * the newest entry, and entry_archived if all may be in months that are away.
     */
    list: (request: ServiceRequest, id: string, page: ListPage): Promise<ProofsPage> =>
      proofReads.record(request.caller, read(request.caller, id, page)),
  };
}
