import { sql } from 'kysely';
import { NIL } from 'uuid';
import type { Owner, Tx } from '../../db/database.ts';
import { sessionColumns, type SessionRow } from '../sessions/session-rows.ts';

/** A position in the list of completed uploads, oldest first. */
export interface CompletedPlace {
  readonly completedAt: Date;
  readonly id: string;
}

const start: CompletedPlace = {
  completedAt: new Date(0),
  id: NIL,
};

/**
 * The SQL condition that no document version uses the file of a row of `upload_sessions`. Indexes
 * hold the rows that are not marked as used.
 */
const isUnused = sql<boolean>`(not upload_sessions.is_used and not exists (
  select from document_versions where document_versions.storage_key = upload_sessions.storage_key
))`;

/**
 * Finds the next `limit` uploads that were completed at or before `before` and that no document
 * uses. Returns their ids, and the position for the next call, which is undefined at the end of the
 * list. Without the position, each call would find those again that another transaction has locked.
 */
export async function findUnused(
  tx: Tx,
  before: Date,
  { after = start, limit }: { readonly after: CompletedPlace | undefined; readonly limit: number },
): Promise<{ readonly ids: readonly string[]; readonly next: CompletedPlace | undefined }> {
  const page = await selectCompleted(tx, before)
    .select(['id', 'completed_at as completedAt'])
    .where(isUnused)
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('completed_at', 'id'), '>', tuple(after.completedAt, after.id)),
    )
    .orderBy('completed_at')
    .orderBy('id')
    .limit(limit)
    .$narrowType<{ readonly completedAt: Date }>()
    .execute();
  return {
    ids: page.map(({ id }) => id),
    next: page.length < limit ? undefined : page.at(-1),
  };
}

/**
 * Removes the given uploads that are still unused, and returns their rows. Skips uploads that
 * another transaction has locked, since a document is being created from them.
 */
export async function removeUnused(tx: Tx, ids: readonly string[]): Promise<SessionRow[]> {
  if (ids.length === 0) return [];
  const held = await tx
    .selectFrom('upload_sessions')
    .select('id')
    .where('id', 'in', ids)
    .orderBy('id')
    .forUpdate()
    .skipLocked()
    .execute();
  if (held.length === 0) return [];
  // Check again whether the uploads are unused: only the locks keep the result from changing.
  return tx
    .deleteFrom('upload_sessions')
    .where(
      'id',
      'in',
      held.map(({ id }) => id),
    )
    .where(isUnused)
    .returning(sessionColumns)
    .execute();
}

/**
 * Removes the next uploads of an owner, in any state, that no document version uses: at most
 * `limit`, and fewer if they have many parts. Resolves with them, and whether more may be left.
 */
export async function removeUnusedOf(tx: Tx, { userId, tenantId }: Owner, limit: number) {
  const found = await tx
    .selectFrom('upload_sessions')
    .select(['id', 'total_parts as totalParts'])
    .where('user_id', '=', userId)
    .where('tenant_id', '=', tenantId)
    .where(isUnused)
    .orderBy('id')
    .limit(limit)
    .forUpdate()
    .execute();
  const ids = cutByParts(found);
  const removed = await tx
    .deleteFrom('upload_sessions')
    .where('id', '=', sql<string>`any(${ids}::uuid[])`)
    .where(isUnused)
    .returning(['status', 'storage_key as key', 'object_version as version'])
    .returning('storage_upload_id as uploadId')
    .execute();
  const wasFull = found.length >= limit || ids.length < found.length;
  return { removed, isMore: wasFull && removed.length > 0 };
}

/** Number of parts of upload sessions that one statement removes, unless a single one has more. */
const partsAtOnce = 20_000;

/** Returns the ids of the first sessions that have together about `partsAtOnce` parts. */
export function cutByParts(
  sessions: readonly { readonly id: string; readonly totalParts: number }[],
): readonly string[] {
  let parts = 0;
  const isCut = sessions.findIndex(({ totalParts }) => {
    if (parts >= partsAtOnce) return true;
    parts += totalParts;
    return false;
  });
  return sessions.slice(0, isCut === -1 ? undefined : isCut).map(({ id }) => id);
}

export async function countUnused(tx: Tx, before: Date): Promise<number> {
  const { count } = await selectCompleted(tx, before)
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where(isUnused)
    .executeTakeFirstOrThrow();
  return count;
}

function selectCompleted(tx: Tx, before: Date) {
  return tx
    .selectFrom('upload_sessions')
    .where('status', '=', sql.lit('COMPLETED'))
    .where('completed_at', '<=', before);
}
