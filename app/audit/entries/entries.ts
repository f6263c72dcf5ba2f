import { sql } from 'kysely';
import type { z } from 'zod';
import { readMonthsAway } from '../../audit-trail/archived-months.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
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
     * than `query.limit`, since at most 10,000 entries are examined for one page, and at most 1 MiB
     * of text is read. `cursor` is undefined on the last page. Entries of months that are away are
     * left out. Throws entry_archived if all of the time asked for is in such months.
     */
    list: (
      { caller }: ServiceRequest,
      query: Query,
    ): Promise<{ readonly entries: View[]; readonly cursor: string | undefined }> =>
      asReader(db, caller, async (tx) => {
        await assertInLog(tx, query);
        const inReach = selectInReach(tx, caller, query);
        const matches = await selectMatches(tx, inReach, query)
          .limit(query.limit + 1)
          .execute();
        const page = cutPage(matches, {
          limit: query.limit,
          cursorOf: ({ id }) => id,
          bytesOf: ({ bytes }) => bytes,
        });
        const rows = await loadRows(
          tx,
          page.rows.map(({ id }) => id),
        );
        const entries = rows.map(toView);
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

/** Throws entry_archived if all months of the query are away from the log. */
async function assertInLog(tx: Tx, { from, to }: Query): Promise<void> {
  if (from === undefined || to === undefined || from >= to) return;
  const away = await readMonthsAway(tx);
  if (away.length === 0) return;
  const end = new Date(to.getTime() - 1);
  const monthsOf = (time: Date) => time.getUTCFullYear() * 12 + time.getUTCMonth();
  for (let month = monthsOf(from); month <= monthsOf(end); month += 1) {
    const name = new Date(Date.UTC(Math.floor(month / 12), month % 12)).toISOString().slice(0, 7);
    if (!away.includes(name)) return;
  }
  throw new AppError('entry_archived');
}

/** The time in the entry's id (UUIDv7), by which entries are ordered and filtered. */
const recordedAt = sql<Date>`coalesce(uuid_extract_timestamp(id), created_at)`;

/** Loads entries, newest first. */
function loadRows(tx: Tx, ids: readonly string[]) {
  return tx
    .selectFrom('audit_entries')
    .select(['id', 'action', 'resource_type', 'resource_id', 'seq', 'canonical', 'state'])
    .select(['sealed_at', 'erased_at', recordedAt.as('recorded_at')])
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .orderBy('id', 'desc')
    .execute();
}

type Row = Awaited<ReturnType<typeof loadRows>>[number];

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
