import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ListedObject, OpenUpload } from '../interface/object-store.ts';
import { toStorageError } from './file-error.ts';
import { findJson, manifestName, uploadName, type Manifest } from './manifest.ts';

/** Content of `upload.json`. */
export interface UploadRecord {
  readonly key: string;
  readonly uploadId: string;
  readonly createdAt: string;
}

const pageLength = 1_000;

async function* readEach<T>(parent: string, file: string): AsyncGenerator<T> {
  try {
    for await (const { name } of await opendir(parent, { bufferSize: pageLength })) {
      const found = await findJson<T>(join(parent, name, file));
      if (found !== undefined) yield found;
    }
  } catch (error) {
    throw toStorageError(error, 'storage_unavailable');
  }
}

export async function* listUploads(uploads: string): AsyncGenerator<OpenUpload> {
  for await (const { key, uploadId, createdAt } of readEach<UploadRecord>(uploads, uploadName)) {
    yield { key, uploadId, createdAt: new Date(createdAt) };
  }
}

/** Lists the objects under a key prefix. Reads every manifest, since names on disk are digests. */
export async function* listObjects(objects: string, prefix: string): AsyncGenerator<ListedObject> {
  for await (const { key, size, createdAt } of readEach<Manifest>(objects, manifestName)) {
    if (key.startsWith(prefix)) yield { key, size, createdAt: new Date(createdAt) };
  }
}
