import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { assertObjectKey } from '../interface/object-key.ts';
import type { FreeSpace, GetOptions, ObjectStore, OpenObject } from '../interface/object-store.ts';
import { StorageError, type StorageErrorCode } from '../interface/storage-error.ts';
import { completeUpload } from './complete-upload.ts';
import { writeDurably } from './durable.ts';
import { toStorageError } from './file-error.ts';
import { createLayout } from './layout.ts';
import { listObjects, listUploads, type UploadRecord } from './list-directories.ts';
import {
  findJson,
  findLostParts,
  findManifest,
  manifestName,
  storedSize,
  uploadName,
  type Manifest,
} from './manifest.ts';
import { readParts } from './read-parts.ts';
import { publishDirectory, removeDirectory, removeLeftovers } from './scratch.ts';
import { createStoreIdentity } from './store-identity.ts';
import { writePart } from './write-part.ts';

export interface FilesystemConfig {
  /** Root directory of the store. Several processes of one machine may share it. */
  readonly directory: string;
}

export interface FilesystemOptions {
  /**
   * Decides whether to create a store in a directory that contains none; by default a store is
   * created. Must resolve with false if objects were stored before, since the volume is then not
   * mounted.
   */
  readonly mayCreate?: (() => Promise<boolean>) | undefined;
}

/** Error codes that say that something is missing or was replaced. */
const absences = new Set<StorageErrorCode>([
  'upload_not_found',
  'object_not_found',
  'part_mismatch',
  'version_changed',
]);

/** Stores objects in a directory. Acknowledged writes survive a process crash and a power cut. */
export async function createFilesystemStore(
  { directory }: FilesystemConfig,
  { mayCreate = async () => true }: FilesystemOptions = {},
): Promise<ObjectStore> {
  const layout = createLayout(directory);
  const identity = createStoreIdentity(layout, mayCreate);

  /**
   * Converts an error. ENOENT becomes `missing` only if the store itself is present, and
   * storage_unavailable otherwise.
   */
  async function explain(error: unknown, missing: StorageErrorCode): Promise<StorageError> {
    const failure = toStorageError(error, missing);
    if (absences.has(failure.code)) await identity.assertPresent();
    return failure;
  }

  function inStore<T>(work: Promise<T>, missing: StorageErrorCode): Promise<T> {
    return work.catch(async (error: unknown) => {
      throw await explain(error, missing);
    });
  }

  /**
   * Converts an error of an upload. Returns storage_unavailable instead of upload_not_found if the
   * record of the upload exists after all: the store was then briefly unavailable.
   */
  async function explainUpload(error: unknown, directory: string): Promise<StorageError> {
    const failure = await explain(error, 'upload_not_found');
    if (failure.code !== 'upload_not_found') return failure;
    const record = await inStore(findJson(join(directory, uploadName)), 'storage_unavailable');
    if (record === undefined) return failure;
    return new StorageError('storage_unavailable', { cause: error });
  }

  function inUpload<T>(work: Promise<T>, directory: string): Promise<T> {
    return work.catch(async (error: unknown) => {
      throw await explainUpload(error, directory);
    });
  }

  async function createMultipart(key: string): Promise<string> {
    assertObjectKey(key);
    await identity.ensurePresent();
    const uploadId = randomUUID();
    const record: UploadRecord = { key, uploadId, createdAt: new Date().toISOString() };
    await publishDirectory(layout.scratch, layout.uploadDirectory(key, uploadId), (path) =>
      writeDurably(join(path, uploadName), JSON.stringify(record)),
    );
    return uploadId;
  }

  async function lookUp(key: string): Promise<Manifest | undefined> {
    const path = join(layout.objectDirectory(key), manifestName);
    const find = () => inStore(findManifest(path), 'object_not_found');
    return (await find()) ?? (await lookAgain(find));
  }

  async function get(key: string, options: GetOptions = {}): Promise<OpenObject> {
    options.signal?.throwIfAborted();
    const manifest = await lookUp(key);
    if (manifest === undefined) throw new StorageError('object_not_found');
    return readParts(layout.objectDirectory(key), manifest, options, explain);
  }

  /**
   * Repeats a search that found nothing, in case the store was unavailable at the first attempt.
   * Throws storage_unavailable if the store is not present.
   */
  async function lookAgain<T>(look: () => Promise<T>): Promise<T> {
    await identity.assertPresent();
    const found = await look();
    if (found === undefined) await identity.assertPresent();
    return found;
  }

  async function remove(path: string): Promise<void> {
    const attempt = async (): Promise<true | undefined> => {
      try {
        await inStore(removeDirectory(layout.scratch, path), 'object_not_found');
        return true;
      } catch (error) {
        if (error instanceof StorageError && error.code === 'object_not_found') return undefined;
        throw error;
      }
    };
    if ((await attempt()) === undefined) await lookAgain(attempt);
  }

  /**
   * Yields the items. Throws at the end unless the store is still present, since a list must be
   * complete.
   */
  async function* listed<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
    yield* items;
    await identity.assertPresent();
  }

  async function start(): Promise<void> {
    await identity.ensurePresent();
    await removeLeftovers(layout.scratch);
  }

  await start().catch(() => undefined);

  return {
    createMultipart: (key) => inStore(createMultipart(key), 'storage_unavailable'),

    async putPart(part, body, options) {
      const path = layout.uploadDirectory(part.key, part.uploadId);
      try {
        return await writePart(path, part, body, options);
      } catch (error) {
        options?.signal?.throwIfAborted();
        throw await explainUpload(error, path);
      }
    },

    async completeMultipart(key, uploadId, parts) {
      const path = layout.uploadDirectory(key, uploadId);
      const object = layout.objectDirectory(key);
      return inUpload(completeUpload(path, object, key, parts), path);
    },

    async findLostParts(key, uploadId, parts) {
      const path = layout.uploadDirectory(key, uploadId);
      return inUpload(findLostParts(path, parts), path);
    },

    abortMultipart: (key, uploadId) => remove(layout.uploadDirectory(key, uploadId)),

    async stat(key) {
      const manifest = await lookUp(key);
      if (manifest === undefined) return undefined;
      const path = layout.objectDirectory(key);
      const size = await inStore(storedSize(path, manifest), 'object_not_found');
      if (size !== manifest.size) await identity.assertPresent();
      return { size, version: manifest.version };
    },

    get,

    delete: (key) => remove(layout.objectDirectory(key)),

    listUploads: () => listed(listUploads(layout.uploads)),

    listObjects: (prefix = '') => listed(listObjects(layout.objects, prefix)),

    async ping() {
      await identity.ensurePresent();
      await inStore(access(layout.scratch, constants.R_OK | constants.W_OK), 'storage_unavailable');
    },

    freeSpace: () => inStore(readFreeSpace(layout.root), 'storage_unavailable'),

    async close() {},
  };
}

/** Reads the unused shares, as df(1) computes them. */
async function readFreeSpace(directory: string): Promise<FreeSpace> {
  const { blocks, bfree, bavail, files, ffree } = await statfs(directory);
  const usable = blocks - bfree + bavail;
  return {
    bytes: usable === 0 ? 0 : bavail / usable,
    inodes: files === 0 ? 1 : ffree / files,
  };
}
