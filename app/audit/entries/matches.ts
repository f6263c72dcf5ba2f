import { sql } from 'kysely';
import type { z } from 'zod';
import type { Tx } from '../../db/database.ts';
import { firstIdOf } from '../../audit-trail/first-id.ts';
import type { EntryQuery } from './schema.ts';
import { isOfTrail, selectReadable, selectTrails, type EntryReader } from './readers.ts';

export const maxLookedThrough = 10_000;

/** The most trails of a resource that are read one by one. */
const maxTrails = 100;

/** The SQL expression for the size of an entry's text in bytes; 0 if the text was erased. */
export const textBytes = sql<number>`coalesce(octet_length(canonical), 0)`;

/** A query of entries, and where they are to be found. */
interface Sought extends Omit<z.output<typeof EntryQuery>, 'limit'> {
  /** The trails of the resource; undefined if the query names none, or if there are too many. */
  readonly trailIds?: readonly number[] | undefined;
}

/**
 * Finds the trails of the resource that a query names. Each owner has a trail of their own: users
 * choose the ids of synchronized objects, and may all choose the same one.
 */
export async function findTrails(
  tx: Tx,
  caller: EntryReader,
  { resourceType: type, resourceId: id }: Sought,
): Promise<number[] | undefined> {
  if (id === undefined) return undefined;
  const trails = await selectTrails(tx, caller, { type, id })
    .select('trail.id')
    .limit(maxTrails + 1)
    .execute();
  return trails.length > maxTrails ? undefined : trails.map((trail) => trail.id);
}

/**
 * Selects the newest 10,000 entries that the caller may see, newest first. Applies only the filters
 * that have an index.
 */
export function selectInReach(tx: Tx, caller: EntryReader, sought: Sought = {}) {
  const newest = selectNewest(tx, caller, sought);
  const { trailIds } = sought;
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

function selectNewest(tx: Tx, caller: EntryReader, { from, to, cursor }: Sought) {
  let found = selectReadable(tx, caller)
    .select(['id', 'action', 'trail_id', 'erased_at', textBytes.as('bytes')])
    .orderBy('id', 'desc')
    .limit(maxLookedThrough);
  if (from !== undefined) found = found.where('id', '>=', firstIdOf(from));
  if (to !== undefined) found = found.where('id', '<', firstIdOf(to));
  if (cursor !== undefined) found = found.where('id', '<', cursor);
  return found;
}

/**
 * Selects the ids of the matching entries, and the sizes of their texts. Applies the filters that
 * have no index, but only to the entries of `inReach`, since matches may be rare among millions of
 * entries.
 */
export function selectMatches(
  tx: Tx,
  inReach: ReturnType<typeof selectInReach>,
  { resourceType, resourceId, trailIds, action }: Sought = {},
) {
  let matches = tx
    .selectFrom(inReach.as('entry'))
    .select(['entry.id', 'entry.bytes'])
    .orderBy('entry.id', 'desc');
  if (trailIds === undefined) {
    if (resourceType !== undefined) matches = matches.where(typeOfTrail, '=', resourceType);
    if (resourceId !== undefined) matches = matches.where(idOfTrail, '=', resourceId);
  }
  return action === undefined ? matches : matches.where('entry.action', '=', action);
}

// Each is looked up: for a join Postgres may read all trails.
const typeOfTrail = sql<string>`(select resource_type from audit_trails where id = entry.trail_id)`;
const idOfTrail = sql<string>`(select resource_id from audit_trails where id = entry.trail_id)`;
