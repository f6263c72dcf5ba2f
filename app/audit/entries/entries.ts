import type { z } from 'zod';
import type { Database } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';
import { maxLookedThrough, selectInReach, selectMatches } from './matches.ts';
import { EntryText, type EntryQuery, type EntryView } from './schema.ts';
import { asReader } from './readers.ts';

type Query = z.output<typeof EntryQuery>;
type View = z.input<typeof EntryView>;

export interface Entries {
  /**
   * Entries that the caller may see, newest first. A page may hold less than its limit: no more than
   * 10,000 entries are looked through for it. `cursor` is undefined after the last page.
   */
  list(caller: Caller, query: Query): Promise<{ entries: View[]; cursor: string | undefined }>;
}

export function createEntries({ db }: { readonly db: Database }): Entries {
  return {
    list: (caller, query) =>
      asReader(db, caller, async (tx) => {
        const inReach = selectInReach(tx, caller, query);
        const rows = await selectMatches(tx, inReach, query)
          .limit(query.limit + 1)
          .execute();
        const entries = rows.slice(0, query.limit).map(toView);
        const shown = entries.at(-1)?.id;
        if (rows.length > query.limit) return { entries, cursor: shown };
        const last = await inReach
          .select('id')
          .offset(maxLookedThrough - 1)
          .limit(1)
          .executeTakeFirst();
        // Others may have come in between: the last of 10,000 is a later one then.
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

/** Undefined once erased; also where someone has made it unreadable, which verifying tells. */
function readText(canonical: string | null): z.output<typeof EntryText> | undefined {
  if (canonical === null) return undefined;
  try {
    return EntryText.safeParse(JSON.parse(canonical)).data;
  } catch {
    return undefined;
  }
}
