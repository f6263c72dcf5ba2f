import type { Database, Owner } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { ObjectStore } from '../../storage/interface/object-store.ts';
import { missingParts, type PartRow } from '../parts/recorded-parts.ts';
import { lockSession, type SessionRow } from '../sessions/session-rows.ts';

interface LostPartsOptions {
  readonly db: Database;
  readonly store: ObjectStore;
}

/**
 * Makes an upload completable again that the store has refused to complete. A request that was given up may still
 * arrive and replace the part that a later one has recorded; the store never assembles it, as its etag is another.
 * Such parts are forgotten, so that they can be sent again, and named in the error returned.
 */
export async function forgetLostParts(
  { db, store }: LostPartsOptions,
  owner: Owner,
  { id, storage_key: key, storage_upload_id: uploadId }: SessionRow,
  parts: readonly PartRow[],
  cause: unknown,
): Promise<AppError> {
  const lost = new Set(await store.findLostParts(key, uploadId, parts));
  const forgotten = parts.filter(({ partNumber }) => lost.has(partNumber));
  // What was not there a moment ago may be there now.
  if (forgotten.length === 0) return new AppError('storage_unavailable', { cause });
  await db.asUser(owner, async (tx) => {
    const { status } = await lockSession(tx, id);
    if (status !== 'IN_PROGRESS') throw new AppError('session_closed');
    await tx
      .deleteFrom('upload_parts')
      .where('session_id', '=', id)
      .where(({ and, or }) =>
        or(forgotten.map(({ partNumber, etag }) => and({ part_number: partNumber, etag }))),
      )
      .execute();
  });
  return missingParts([...lost], cause);
}
