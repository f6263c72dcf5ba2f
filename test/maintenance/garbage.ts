import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { ObjectStore } from '../../app/storage/interface/object-store.ts';

/** What is collected where there is no garbage. */
export const nothing = {
  abortedUploads: 0,
  deletedObjects: 0,
  removedIdempotencyKeys: 0,
  removedSyncRequests: 0,
  removedAddresses: 0,
  removedLoginSessions: 0,
  removedSessionDevices: 0,
};

/** An upload with one part, of which no row knows; as an object if it is completed. */
export async function storeUnknown(
  store: ObjectStore,
  {
    key = `${randomUUID()}/a.bin`,
    completed = false,
  }: { key?: string | undefined; completed?: boolean },
) {
  const uploadId = await store.createMultipart(key);
  const part = { key, uploadId, partNumber: 1, size: 5 };
  const { etag } = await store.putPart(part, Readable.from([Buffer.alloc(5)]));
  if (completed) await store.completeMultipart(key, uploadId, [{ partNumber: 1, etag }]);
  return { key, uploadId };
}
