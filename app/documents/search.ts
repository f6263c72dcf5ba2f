import { sql } from 'kysely';
import type { z } from 'zod';
import type { Database } from '../db/database.ts';
import type { Caller } from '../http/caller.ts';
import { selectDocuments, toView } from './document-rows.ts';
import type { DocumentView } from './schema.ts';
import { selectMatches, type Wanted } from './search-matches.ts';

export interface DocumentSearch {
  /**
   * The caller's own documents with these keywords, newest first; `cursor` is the last id of the
   * page before, and undefined after the last page.
   */
  find(
    caller: Caller,
    wanted: Wanted,
    page: { limit: number; cursor?: string | undefined },
  ): Promise<{ documents: z.input<typeof DocumentView>[]; cursor: string | undefined }>;
}

export function createDocumentSearch({ db }: { readonly db: Database }): DocumentSearch {
  return {
    find: (caller, wanted, { limit, cursor }) =>
      db.asUser(caller, async (tx) => {
        const page = { limit: limit + 1, cursor };
        const matches = await selectMatches(caller.userId, wanted, page).execute(tx);
        const ids = matches.rows.slice(0, limit).map(({ document_id: id }) => id);
        const rows = await selectDocuments(tx)
          .where(sql<boolean>`documents.id = any (${ids}::uuid[])`)
          .orderBy('documents.id', 'desc')
          .execute();
        return {
          documents: rows.map(toView),
          cursor: matches.rows.length > limit ? ids.at(-1) : undefined,
        };
      }),
  };
}
