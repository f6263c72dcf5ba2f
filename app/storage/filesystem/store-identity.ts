import { randomUUID } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StorageError } from '../interface/storage-error.ts';
import { syncDirectory, writeDurably } from './durable.ts';
import { hasErrno, toStorageError } from './file-error.ts';
import { identityName, type Layout } from './layout.ts';
import { findJson } from './manifest.ts';
import { publishDirectory } from './scratch.ts';

/** Content of `store.json`. */
interface StoreRecord {
  readonly id: string;
  readonly createdAt: string;
}

/**
 * Creates the checks that distinguish the store from the empty directory of an unmounted volume.
 */
export function createStoreIdentity(layout: Layout, mayCreate: () => Promise<boolean>) {
  const directories = [layout.uploads, layout.objects, layout.scratch];
  let seen: string | undefined;

  async function assertPresent(): Promise<void> {
    const record = await findJson<StoreRecord>(join(layout.identity, identityName));
    seen ??= record?.id;
    if (record === undefined || record.id !== seen) throw storeMissing();
    const found = await Promise.all(directories.map((path) => stat(path)));
    if (!found.every((entry) => entry.isDirectory())) throw storeMissing();
  }

  async function create(): Promise<void> {
    for (const path of directories) await makeDirectory(path);
    const record: StoreRecord = { id: randomUUID(), createdAt: new Date().toISOString() };
    try {
      await publishDirectory(layout.scratch, layout.identity, (path) =>
        writeDurably(join(path, identityName), JSON.stringify(record)),
      );
    } catch (error) {
      if (!hasErrno(error, 'ENOTEMPTY', 'EEXIST')) throw error;
    }
    await syncDirectory(dirname(layout.root));
  }

  async function ensurePresent(): Promise<void> {
    try {
      await assertPresent();
    } catch (error) {
      if (seen !== undefined || !(await mayCreate())) throw error;
      await create();
      await assertPresent();
    }
  }

  return {
    /**
     * Throws storage_unavailable unless the store is present and has the id that this process saw
     * first.
     */
    assertPresent: () => assertPresent().catch(throwStorageError),
    /**
     * Does nothing if the store is present. Creates a store if this process has never seen one and
     * `mayCreate` allows it; concurrent callers create a single store. Otherwise throws
     * storage_unavailable, or storage_full if there is no room for a new store.
     */
    ensurePresent: () => ensurePresent().catch(throwStorageError),
  };
}

/**
 * Creates a directory and its parents. Node's own recursive mkdir never returns if a file system
 * reports ENOENT below an existing directory, as /proc and automounts do.
 */
async function makeDirectory(path: string): Promise<void> {
  const make = () => mkdir(path, { mode: 0o700 }).catch(unlessThere);
  try {
    await make();
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error;
    await makeDirectory(dirname(path));
    await make();
  }
}

function unlessThere(error: unknown): void {
  if (!hasErrno(error, 'EEXIST')) throw error;
}

/** Returns the error for a directory without the store, with the cause that says so. */
function storeMissing(): StorageError {
  const cause = Object.assign(new Error('the store is not in its directory'), { code: 'ENOENT' });
  return new StorageError('storage_unavailable', { cause });
}

function throwStorageError(error: unknown): never {
  throw toStorageError(error, 'storage_unavailable');
}
