import type { Database } from '../../db/database.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { readPage, type DocumentsPage } from '../records/pages.ts';
import { selectMatches, type Wanted } from './matches.ts';

export type DocumentSearch = ReturnType<typeof createDocumentSearch>;

/** Creates the service that finds documents by the hashes of their keywords. */
export function createDocumentSearch({ db }: { readonly db: Database }) {
  return {
    /**
     * Lists the caller's own documents that match the given keywords, newest first. `cursor` is the
     * place of the last document on the previous page.
     */
    find: (
      { caller }: ServiceRequest,
      wanted: Wanted,
      { limit, cursor }: { readonly limit: number; readonly cursor?: string | undefined },
    ): Promise<DocumentsPage> =>
      readPage(db, caller, limit, async (tx) => {
        const page = { limit: limit + 1, cursor };
        const matches = await selectMatches(caller.userId, wanted, page).execute(tx);
        return matches.rows.map(({ place }) => place);
      }),
  };
}
