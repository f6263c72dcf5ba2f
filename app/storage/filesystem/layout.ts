import { createHash } from 'node:crypto';
import { join } from 'node:path';

export type Layout = ReturnType<typeof createLayout>;

export const identityName = 'store.json';

function digest(...texts: string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}

/**
 * Names the directories of a store:
 *
 *     store/store.json                         id of the store; without it there is no store here
 *     uploads/<digest of key and upload id>/   open uploads
 *     objects/<digest of key>/                 completed uploads: the same directory, renamed
 *     scratch/<random>/                        directories being created
 *     scratch/<digest>/                        directories being removed
 *
 * The directory of an upload or an object holds:
 *
 *     upload.json       key, upload id and time
 *     manifest.json     key, version, size, time and ordered part files; written by a completion
 *     <number>-<etag>   a complete part; the etag is random, so writers never share a name
 *     <etag>.partial    a part being written
 *
 * Every state change is one rename of a directory. So if a completion and an abort race, one of
 * them wins, and a crash leaves either the old state or the new one. No name on disk comes from a
 * caller.
 */
export function createLayout(root: string) {
  const uploads = join(root, 'uploads');
  const objects = join(root, 'objects');
  return {
    root,
    identity: join(root, 'store'),
    uploads,
    objects,
    scratch: join(root, 'scratch'),
    uploadDirectory: (key: string, uploadId: string) => join(uploads, digest(key, uploadId)),
    objectDirectory: (key: string) => join(objects, digest(key)),
  };
}
