import { createHash } from 'node:crypto';
import { join } from 'node:path';

/**
 *     store/store.json                         id of the store; without it the directory is none
 *     uploads/<digest of upload id and key>/   open uploads
 *     objects/<digest of key>/                 completed ones: the same directory, moved
 *     scratch/<random>/                        directories being made
 *     scratch/<digest>/                        directories being removed
 *
 * and in such a directory
 *
 *     upload.json                              key, upload id, time
 *     manifest.json                            key, version, size, time and part files in order; written by completion
 *     <number>-<etag>                          a whole part; the etag is random, so writers never share a name
 *     <etag>.partial                           a part being written
 *
 * Every change of state is one rename of a directory, so that of two callers who complete and abort one wins, and a
 * crash leaves the old state or the new one. No name on disk comes from a caller.
 */
export interface Layout {
  root: string;
  identity: string;
  uploads: string;
  objects: string;
  scratch: string;
  uploadDirectory(key: string, uploadId: string): string;
  objectDirectory(key: string): string;
}

export const identityName = 'store.json';

function digest(...texts: string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}

export function createLayout(root: string): Layout {
  const uploads = join(root, 'uploads');
  const objects = join(root, 'objects');
  return {
    root,
    identity: join(root, 'store'),
    uploads,
    objects,
    scratch: join(root, 'scratch'),
    uploadDirectory: (key, uploadId) => join(uploads, digest(key, uploadId)),
    objectDirectory: (key) => join(objects, digest(key)),
  };
}
