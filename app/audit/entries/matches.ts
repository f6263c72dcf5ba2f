import { sql } from 'kysely';
import type { z } from 'zod';
import type { Tx } from '../../db/database.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { EntryQuery } from './schema.ts';
import { selectReadable } from './readers.ts';

type Query = z.output<typeof EntryQuery>;

export const maxLookedThrough = 10_000;

/**
 * Selects the entries that the caller may see, newest first. Applies only the filters that have an
 * index.
 */
export function selectInReach(tx: Tx, caller: Caller, query: Omit<Query, 'limit'> = {}) {
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

/**
 * Applies the filters that have no index, but only to the first 10,000 entries of `inReach`, since
 * matches may be rare among millions of entries.
 */
export function selectMatches(
  tx: Tx,
  inReach: ReturnType<typeof selectInReach>,
  { resourceType, action }: Pick<Query, 'resourceType' | 'action'> = {},
) {
  const lookedThrough = inReach
    .select(['id', 'action', 'resource_type', 'resource_id', 'seq', 'canonical', 'state'])
    .select(['hash', 'signature', 'key_id', 'sealed_at', 'erased_at'])
    .select(recordedAt.as('recorded_at'))
    .limit(maxLookedThrough)
    .as('looked_through');
  let matches = tx.selectFrom(lookedThrough).selectAll().orderBy('id', 'desc');
  if (resourceType !== undefined) matches = matches.where('resource_type', '=', resourceType);
  if (action !== undefined) matches = matches.where('action', '=', action);
  return matches;
}

/** The time in the entry's id (UUIDv7), by which entries are ordered and filtered. */
const recordedAt = sql<Date>`coalesce(uuid_extract_timestamp(id), created_at)`;

/** Returns an id that is below every UUIDv7 generated at `time` or later. */
function firstIdOf(time: Date): string {
  const digits = Math.max(0, time.getTime()).toString(16).padStart(12, '0');
  return `${digits.slice(0, 8)}-${digits.slice(8)}-0000-0000-000000000000`;
}
