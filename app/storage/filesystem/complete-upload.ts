import { randomUUID } from 'node:crypto';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredPart } from '../interface/object-store.ts';
import { StorageError } from '../interface/storage-error.ts';
import { moveDurably, syncDirectory, writeDurably } from './durable.ts';
import { hasErrno } from './file-error.ts';
import {
  createManifest,
  findJson,
  manifestName,
  removeUnlisted,
  versionOf,
  type Manifest,
} from './manifest.ts';

async function writeManifest(directory: string, manifest: Manifest): Promise<void> {
  const partial = join(directory, `${randomUUID()}.partial`);
  try {
    await writeDurably(partial, JSON.stringify(manifest));
    await rename(partial, join(directory, manifestName));
  } catch (error) {
    await rm(partial, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncDirectory(directory);
}

async function publish(from: string, to: string): Promise<void> {
  try {
    await moveDurably(from, to);
  } catch (error) {
    if (hasErrno(error, 'ENOTEMPTY', 'EEXIST')) throw new StorageError('key_in_use');
    throw error;
  }
}

/**
 * Completes an upload: renames its directory to the directory of the object, without copying the
 * parts. A repeated call with the same parts does nothing. Throws upload_not_found, part_mismatch
 * or key_in_use.
 */
export async function completeUpload(
  upload: string,
  object: string,
  key: string,
  parts: readonly StoredPart[],
): Promise<{ version: string }> {
  try {
    await writeManifest(upload, await createManifest(upload, key, parts));
    await publish(upload, object);
  } catch (error) {
    if (!hasErrno(error, 'ENOENT')) throw error;
  }
  // A concurrent call may have completed the upload with other parts: the published manifest
  // decides.
  const published = await findJson<Manifest>(join(object, manifestName));
  if (published === undefined) throw new StorageError('upload_not_found');
  if (published.version !== versionOf(parts)) throw new StorageError('part_mismatch');
  await removeUnlisted(object, published);
  return { version: published.version };
}
