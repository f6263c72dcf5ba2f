import { markIdOf } from '../../../app/restore/high-water-marks/mark-key.ts';
import type { ObjectStore } from '../../../app/storage/interface/object-store.ts';

/**
 * Returns what a store holds besides marks: the ids of open uploads and the keys of objects,
 * sorted.
 */
export async function listStore(
  store: ObjectStore,
): Promise<{ readonly uploads: string[]; readonly objects: string[] }> {
  const uploads: string[] = [];
  const objects: string[] = [];
  for await (const { key, uploadId } of store.listUploads()) {
    if (markIdOf(key) === undefined) uploads.push(uploadId);
  }
  for await (const { key } of store.listObjects()) {
    if (markIdOf(key) === undefined) objects.push(key);
  }
  return { uploads: uploads.sort(), objects: objects.sort() };
}
