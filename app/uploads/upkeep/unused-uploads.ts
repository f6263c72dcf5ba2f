import { sql } from 'kysely';
import { NIL } from 'uuid';
import type { Tx } from '../../db/database.ts';
import type { SessionRow } from '../sessions/session-rows.ts';

/** How far a walk over completed uploads, oldest first, has come. */
export interface CompletedPlace {
  readonly completedAt: Date;
  readonly id: string;
}

const start: CompletedPlace = {
  completedAt: new Date(0),
  id: NIL,
};

/** Of `upload_sessions`: the file is no version of a document. */
const isUnused = sql<boolean>`not exists (
  select from document_versions where document_versions.storage_key = upload_sessions.storage_key
)`;

/**
 * The ids of unused uploads among the next `limit` completed by `before`, and where to go on: undefined
 * at the end. A walk, as most completed uploads are documents and would be looked at each time anew.
 */
export async function findUnused(
  tx: Tx,
  before: Date,
  { after = start, limit }: { after: CompletedPlace | undefined; limit: number },
): Promise<{ ids: string[]; next: CompletedPlace | undefined }> {
  const page = await selectCompleted(tx, before)
    .select(['id', 'completed_at as completedAt', isUnused.as('isUnused')])
    .where(({ eb, refTuple, tuple }) =>
      eb(refTuple('completed_at', 'id'), '>', tuple(after.completedAt, after.id)),
    )
    .orderBy('completed_at')
    .orderBy('id')
    .limit(limit)
    .$narrowType<{ completedAt: Date }>()
    .execute();
  return {
    ids: page.filter((row) => row.isUnused).map(({ id }) => id),
    next: page.length < limit ? undefined : page.at(-1),
  };
}

/** Removes those of the uploads that are unused still and that nobody is just making a document of. */
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
  // Only now that they are locked is it certain what became of them.
  return tx
    .deleteFrom('upload_sessions')
    .where(
      'id',
      'in',
      held.map(({ id }) => id),
    )
    .where(isUnused)
    .returningAll()
    .execute();
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
    .where('status', '=', 'COMPLETED')
    .where('completed_at', '<=', before);
}
