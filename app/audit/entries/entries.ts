import { sql } from 'kysely';
import type { z } from 'zod';
import { readMonthsAway, type Month } from '../../audit-trail/archived-months.ts';
import { inIndexOrder, type Database, type Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import { cutPage } from '../../http/responses/page.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { findTrails, maxLookedThrough, selectInReach, selectMatches } from './matches.ts';
import { EntryText, type EntryQuery, type EntryView } from './schema.ts';
import { asReader, resourceOf } from './readers.ts';

type Query = z.output<typeof EntryQuery>;
type View = z.input<typeof EntryView>;

interface EntryPage {
  /** Newest first. */
  readonly entries: View[];
  /** The months that the query asks for and that are away, oldest first. */
  readonly archivedMonths: Month[];
  /** Undefined on the last page. */
  readonly cursor: string | undefined;
}

export type Entries = ReturnType<typeof createEntries>;

/** Creates the service that lists audit entries. */
export function createEntries({ db }: { readonly db: Database }) {
  return {
    /**
     * Lists the entries that the caller may see, newest first. A page may contain fewer entries
     * than `query.limit`, since at most 10,000 entries are examined for one page, and at most 1 MiB
     * of text is read. Entries of months that are away are left out, and these months are named.
     * Throws entry_archived if all of the time asked for is in such months.
     */
    list({ caller }: ServiceRequest, query: Query): Promise<EntryPage> {
      const read = async (tx: Tx) => {
        const before = await readAway(tx, query);
        assertInLog(before, query);
        const page = await readPage(tx, caller, query);
        // A month that returned meanwhile may be missing from the page as one that left then.
        const months = new Set([...before, ...(await readAway(tx, query))]);
        return { ...page, archivedMonths: [...months].sort() };
      };
      return asReader(db, caller, read, inIndexOrder);
    },
  };
}

async function readPage(
  tx: Tx,
  caller: Caller,
  query: Query,
): Promise<Omit<EntryPage, 'archivedMonths'>> {
  const sought = { ...query, trailIds: await findTrails(tx, caller, query) };
  const inReach = selectInReach(tx, caller, sought);
  const matches = await selectMatches(tx, inReach, sought)
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
  const last = await tx
    .selectFrom(inReach.as('entry'))
    .select('entry.id')
    .orderBy('entry.id', 'desc')
    .offset(maxLookedThrough - 1)
    .limit(1)
    .executeTakeFirst();
  // If entries were added between the two queries, the 10,000th may be newer than `shown`.
  const shown = entries.at(-1)?.id;
  const isShown = last !== undefined && shown !== undefined && shown < last.id;
  return { entries, cursor: isShown ? shown : last?.id };
}

/** Reads which months of the query are away from the log. */
async function readAway(tx: Tx, { from, to }: Query): Promise<Month[]> {
  if (from !== undefined && to !== undefined && from >= to) return [];
  const first = from === undefined ? '' : monthName(from);
  const last = to === undefined ? '9999-12' : monthName(lastBefore(to));
  return (await readMonthsAway(tx)).filter((month) => month >= first && month <= last);
}

/** Throws entry_archived if all months of the query are away from the log. */
function assertInLog(away: readonly Month[], { from, to }: Query): void {
  if (away.length === 0 || from === undefined || to === undefined) return;
  const number = (time: Date) => time.getUTCFullYear() * 12 + time.getUTCMonth();
  const asked = number(lastBefore(to)) - number(from) + 1;
  if (away.length === asked) throw new AppError('entry_archived');
}

const monthName = (time: Date): Month => time.toISOString().slice(0, 7);
const lastBefore = (time: Date) => new Date(time.getTime() - 1);

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
    resource: resourceOf(row),
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
