import type { z } from 'zod';
import type { Database } from '../../db/database.ts';
import { cutPage } from '../../http/responses/page.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { maxLookedThrough, selectInReach, selectMatches } from './matches.ts';
import { EntryText, type EntryQuery, type EntryView } from './schema.ts';
import { asReader } from './readers.ts';

type Query = z.output<typeof EntryQuery>;
type View = z.input<typeof EntryView>;

export type Entries = ReturnType<typeof createEntries>;

/** Creates the service that lists audit entries. */
export function createEntries({ db }: { readonly db: Database }) {
  return {
    /**
     * Lists the entries that the caller may see, newest first. A page may contain fewer entries
     * than `query.limit`, since at most 10,000 entries are examined for one page. `cursor` is
     * undefined on the last page.
     */
    list: (
      { caller }: ServiceRequest,
      query: Query,
    ): Promise<{ readonly entries: View[]; readonly cursor: string | undefined }> =>
      asReader(db, caller, async (tx) => {
        const inReach = selectInReach(tx, caller, query);
        const rows = await selectMatches(tx, inReach, query)
          .limit(query.limit + 1)
          .execute();
        const page = cutPage(rows, { limit: query.limit, cursorOf: ({ id }) => id });
        const entries = page.rows.map(toView);
        if (page.cursor !== undefined) return { entries, cursor: page.cursor };
        const last = await inReach
          .select('id')
          .offset(maxLookedThrough - 1)
          .limit(1)
          .executeTakeFirst();
        // If entries were added between the two queries, the 10,000th may be newer than `shown`.
        const shown = entries.at(-1)?.id;
        const isShown = last !== undefined && shown !== undefined && shown < last.id;
        return { entries, cursor: isShown ? shown : last?.id };
      }),
  };
}

type Row = Awaited<ReturnType<ReturnType<typeof selectMatches>['execute']>>[number];

function toView(row: Row): View {
  const text = readText(row.canonical);
  return {
    id: row.id,
    action: row.action,
    resource: { type: row.resource_type, id: row.resource_id },
    seq: row.seq,
    actor: text?.actor ?? null,
    outcome: text?.outcome ?? null,
    state: row.erased_at === null ? row.state : 'ERASED',
    recordedAt: row.recorded_at,
    sealedAt: row.sealed_at,
    data: text?.data ?? null,
  };
}

/**
 * Parses an entry's text. Returns undefined if the text was erased, or if it is not a valid entry.
 */
function readText(canonical: string | null): z.output<typeof EntryText> | undefined {
  if (canonical === null) return undefined;
  try {
    return EntryText.safeParse(JSON.parse(canonical)).data;
  } catch {
    return undefined;
  }
}
