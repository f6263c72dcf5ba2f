import { sql } from 'kysely';
import type { z } from 'zod';
import type { Tx } from '../../db/database.ts';
import { firstIdOf } from '../../audit-trail/first-id.ts';
import type { EntryQuery } from './schema.ts';
import { isOfTrail, selectReadable, selectTrails, type EntryReader } from './readers.ts';

type Query = Omit<z.output<typeof EntryQuery>, 'limit'>;

export const maxLookedThrough = 10_000;

/** The SQL expression for the size of an entry's text in bytes; 0 if the text was erased. */
export const textBytes = sql<number>`coalesce(octet_length(canonical), 0)`;

/**
 * Selects the newest 10,000 entries that the caller may see, newest first. Applies only the filters
 * that have an index.
 * @param trailIds The trails of the query's resource, if it names one.
 */
export function selectInReach(
  tx: Tx,
  caller: EntryReader,
  query: Query = {},
  trailIds?: readonly number[],
) {
  const newest = selectNewest(tx, caller, query);
  if (trailIds === undefined) return newest;
  const [trailId, ...others] = trailIds;
  if (others.length === 0) return newest.where('trail_id', '=', trailId ?? null);
  // Each trail is read in the order of an index.
  return tx
    .selectFrom(sql<{ id: number }>`unnest(${trailIds}::bigint[])`.as<'trail'>(sql`trail (id)`))
    .innerJoinLateral(newest.where(isOfTrail).as('entry'), (on) => on.onTrue())
    .select(['entry.id', 'entry.action', 'entry.trail_id', 'entry.erased_at', 'entry.bytes'])
    .orderBy('entry.id', 'desc')
    .limit(maxLookedThrough);
}

function selectNewest(tx: Tx, caller: EntryReader, { from, to, cursor }: Query) {
  let found = selectReadable(tx, caller)
    .select(['id', 'action', 'trail_id', 'erased_at', textBytes.as('bytes')])
    .orderBy('id', 'desc')
    .limit(maxLookedThrough);
  if (from !== undefined) found = found.where('id', '>=', firstIdOf(from));
  if (to !== undefined) found = found.where('id', '<', firstIdOf(to));
  if (cursor !== undefined) found = found.where('id', '<', cursor);
  return found;
}

/** Finds the trails of the resource that a query names; undefined if it names none. */
export async function findTrails(
  tx: Tx,
  caller: EntryReader,
  { resourceType: type, resourceId: id }: Query,
): Promise<number[] | undefined> {
  if (id === undefined) return undefined;
  const trails = await selectTrails(tx, caller, { type, id }).select('trail.id').execute();
  return trails.map((trail) => trail.id);
}

/**
 * Selects the ids of the matching entries, and the sizes of their texts. Applies the filters that
 * have no index, but only to the entries of `inReach`, since matches may be rare among millions of
 * entries.
 */
export function selectMatches(
  tx: Tx,
  inReach: ReturnType<typeof selectInReach>,
  { resourceType, resourceId, action }: Query = {},
) {
  let matches = tx
    .selectFrom(inReach.as('entry'))
    .select(['entry.id', 'entry.bytes'])
    .orderBy('entry.id', 'desc');
  if (resourceType !== undefined && resourceId === undefined) {
    // For a join Postgres may read all trails.
    const type = sql<string>`(select resource_type from audit_trails where id = entry.trail_id)`;
    matches = matches.where(type, '=', resourceType);
  }
  return action === undefined ? matches : matches.where('entry.action', '=', action);
}
