import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ObjectStore } from '../../app/storage/interface/object-store.ts';

/** The counts of a run that finds no garbage. */
export const nothing = {
  abortedUploads: 0,
  deletedObjects: 0,
  removedIdempotencyKeys: 0,
  removedSyncRequests: 0,
  removedSyncHistory: 0,
  forgottenSyncUndos: 0,
  removedAddresses: 0,
  removedLoginSessions: 0,
  removedSessionDevices: 0,
  removedReplacedKeys: 0,
  removedExports: 0,
  settledMfaChanges: 0,
};

/** Stores an upload with one part that no row refers to; as an object if `completed`. */
export async function storeUnknown(
  store: ObjectStore,
  {
    key = `${randomUUID()}/a.bin`,
    completed = false,
  }: { readonly key?: string | undefined; readonly completed?: boolean },
) {
  const uploadId = await store.createMultipart(key);
  const part = { key, uploadId, partNumber: 1, size: 5 };
  const { etag } = await store.putPart(part, Readable.from([Buffer.alloc(5)]));
  if (completed) await store.completeMultipart(key, uploadId, [{ partNumber: 1, etag }]);
  return { key, uploadId };
}
