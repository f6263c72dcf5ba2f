import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { assertObjectKey } from '../object-key.ts';
import type { ObjectStore } from '../object-store.ts';
import { StorageError } from '../storage-error.ts';
import type { StorageErrorCode } from '../storage-error.ts';
import { completeUpload } from './complete-upload.ts';
import { writeDurably } from './durable.ts';
import { toStorageError } from './file-error.ts';
import { createLayout } from './layout.ts';
import { listObjects, listUploads } from './list-directories.ts';
import type { UploadRecord } from './list-directories.ts';
import { findJson, manifestName, storedSize, uploadName } from './manifest.ts';
import type { Manifest } from './manifest.ts';
import { readParts } from './read-parts.ts';
import { publishDirectory, removeDirectory, removeLeftovers } from './scratch.ts';
import { writePart } from './write-part.ts';

export interface FilesystemConfig {
  /** Made when missing. Several processes of one machine may share it. */
  directory: string;
}

async function orStorageError<T>(work: Promise<T>, missing: StorageErrorCode): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw toStorageError(error, missing);
  }
}

/** Objects in a directory. What is acknowledged survives a crash of the process and a power cut. */
export async function createFilesystemStore({ directory }: FilesystemConfig): Promise<ObjectStore> {
  const layout = createLayout(directory);
  const findManifest = (key: string) =>
    orStorageError(
      findJson<Manifest>(join(layout.objectDirectory(key), manifestName)),
      'object_not_found',
    );

  async function open(): Promise<void> {
    for (const path of [layout.uploads, layout.objects, layout.scratch]) {
      await mkdir(path, { recursive: true, mode: 0o700 });
    }
    await removeLeftovers(layout.scratch);
  }

  async function createMultipart(key: string): Promise<string> {
    assertObjectKey(key);
    const uploadId = randomUUID();
    const record: UploadRecord = { key, uploadId, createdAt: new Date().toISOString() };
    await publishDirectory(layout.scratch, layout.uploadDirectory(key, uploadId), (path) =>
      writeDurably(join(path, uploadName), JSON.stringify(record)),
    );
    return uploadId;
  }

  await orStorageError(open(), 'storage_unavailable');

  return {
    createMultipart: (key) => orStorageError(createMultipart(key), 'storage_unavailable'),

    putPart: (part, body, options) =>
      writePart(layout.uploadDirectory(part.key, part.uploadId), part, body, options),

    completeMultipart: (key, uploadId, parts) =>
      orStorageError(
        completeUpload(
          layout.uploadDirectory(key, uploadId),
          layout.objectDirectory(key),
          key,
          parts,
        ),
        'upload_not_found',
      ),

    abortMultipart: (key, uploadId) =>
      orStorageError(
        removeDirectory(layout.scratch, layout.uploadDirectory(key, uploadId)),
        'storage_unavailable',
      ),

    async stat(key) {
      const manifest = await findManifest(key);
      if (!manifest) return undefined;
      const size = storedSize(layout.objectDirectory(key), manifest);
      return { size: await orStorageError(size, 'object_not_found'), version: manifest.version };
    },

    async read(key, options = {}) {
      const manifest = await findManifest(key);
      if (!manifest) throw new StorageError('object_not_found');
      return readParts(layout.objectDirectory(key), manifest, options);
    },

    delete: (key) =>
      orStorageError(
        removeDirectory(layout.scratch, layout.objectDirectory(key)),
        'storage_unavailable',
      ),

    listUploads: () => listUploads(layout.uploads),

    listObjects: () => listObjects(layout.objects),

    ping: () =>
      orStorageError(
        access(layout.scratch, constants.R_OK | constants.W_OK),
        'storage_unavailable',
      ),

    async close() {},
  };
}
