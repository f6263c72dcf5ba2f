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
 * Recovers an upload that the object store refused to complete. A part request that timed out may
 * still reach the store after a retry of the part was recorded, and replace the part; the store
 * then refuses to assemble the upload, since the part's ETag is not the recorded ETag. Removes the
 * records of replaced parts, so that the client can send these parts again. Returns invalid_parts,
 * which names the replaced parts, or storage_unavailable if no part was replaced.
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
  // The store has all recorded parts, so a retry of the completion may succeed.
  if (forgotten.length === 0) return new AppError('storage_unavailable', { cause });
  await db.asUser(owner, async (tx) => {
    const { status } = await lockSession(tx, owner, id);
    if (status !== 'IN_PROGRESS') throw new AppError('session_closed');
    await tx
      .deleteFrom('upload_parts')
      .where('session_id', '=', id)
      .where('user_id', '=', owner.userId)
      .where('tenant_id', '=', owner.tenantId)
      .where(({ and, or }) =>
        or(forgotten.map(({ partNumber, etag }) => and({ part_number: partNumber, etag }))),
      )
      .execute();
  });
  return missingParts([...lost], cause);
}
