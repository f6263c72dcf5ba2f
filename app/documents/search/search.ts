import type { Database } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';
import { loadPage, type DocumentsPage } from '../records/pages.ts';
import { selectMatches, type Wanted } from './matches.ts';

export interface DocumentSearch {
  /**
   * The caller's own documents with these keywords, newest first; `cursor` is the last id of the page
   * before.
   */
  find(
    caller: Caller,
    wanted: Wanted,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<DocumentsPage>;
}

export function createDocumentSearch({ db }: { readonly db: Database }): DocumentSearch {
  return {
    find: (caller, wanted, { limit, cursor }) =>
      db.asUser(caller, async (tx) => {
        const page = { limit: limit + 1, cursor };
        const matches = await selectMatches(caller.userId, wanted, page).execute(tx);
        const ids = matches.rows.map(({ document_id: id }) => id);
        return loadPage(tx, ids, limit);
      }),
  };
}
