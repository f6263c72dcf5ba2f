import type { ObjectStore } from '../../app/storage/object-store.ts';

/** What a store holds: the ids of open uploads and the keys of objects, sorted. */
export async function listStore(
  store: ObjectStore,
): Promise<{ uploads: string[]; objects: string[] }> {
  const uploads: string[] = [];
  const objects: string[] = [];
  for await (const { uploadId } of store.listUploads()) uploads.push(uploadId);
  for await (const { key } of store.listObjects()) objects.push(key);
  return { uploads: uploads.sort(), objects: objects.sort() };
}
