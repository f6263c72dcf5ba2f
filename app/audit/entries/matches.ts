import { sql } from 'kysely';
import type { z } from 'zod';
import type { Tx } from '../../db/database.ts';
import { firstIdOf } from '../../audit-trail/first-id.ts';
import type { EntryQuery } from './schema.ts';
import { selectReadable, type EntryReader } from './readers.ts';

type Query = z.output<typeof EntryQuery>;

export const maxLookedThrough = 10_000;

/**
 * Selects the entries that the caller may see, newest first. Applies only the filters that have an
 * index.
 */
export function selectInReach(tx: Tx, caller: EntryReader, query: Omit<Query, 'limit'> = {}) {
  const { resourceType, resourceId, from, to, cursor } = query;
  let found = selectReadable(tx, caller).orderBy('id', 'desc');
  if (resourceId !== undefined) {
    found = found.where('resource_id', '=', resourceId);
    if (resourceType !== undefined) found = found.where('resource_type', '=', resourceType);
  }
  if (from !== undefined) found = found.where('id', '>=', firstIdOf(from));
  if (to !== undefined) found = found.where('id', '<', firstIdOf(to));
  if (cursor !== undefined) found = found.where('id', '<', cursor);
  return found;
}

/** The SQL expression for the size of an entry's text in bytes; 0 if the text was erased. */
export const textBytes = sql<number>`coalesce(octet_length(canonical), 0)`;

/**
 * Selects the ids of the matching entries, and the sizes of their texts. Applies the filters that
 * have no index, but only to the first 10,000 entries of `inReach`, since matches may be rare among
 * millions of entries.
 */
export function selectMatches(
  tx: Tx,
  inReach: ReturnType<typeof selectInReach>,
  { resourceType, action }: Pick<Query, 'resourceType' | 'action'> = {},
) {
  const lookedThrough = inReach
    .select(['id', 'action', 'resource_type', 'erased_at'])
    .select(textBytes.as('bytes'))
    .limit(maxLookedThrough)
    .as('looked_through');
  let matches = tx.selectFrom(lookedThrough).select(['id', 'bytes']).orderBy('id', 'desc');
  if (resourceType !== undefined) matches = matches.where('resource_type', '=', resourceType);
  if (action !== undefined) matches = matches.where('action', '=', action);
  return matches;
}
