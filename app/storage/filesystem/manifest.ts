import { createHash } from 'node:crypto';
import { readFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { StoredPart } from '../interface/object-store.ts';
import { StorageError } from '../interface/storage-error.ts';
import { hasErrno } from './file-error.ts';

export const manifestName = 'manifest.json';
export const uploadName = 'upload.json';

const PartFile = z.object({ file: z.string(), size: z.int() });

const Manifest = z
  .object({
    key: z.string(),
    version: z.string(),
    size: z.int(),
    createdAt: z.string(),
    parts: z.array(PartFile),
  })
  .refine(({ size, parts }) => size === parts.reduce((sum, part) => sum + part.size, 0));

export type Manifest = z.output<typeof Manifest>;

export const partFileName = (part: StoredPart) => `${part.partNumber}-${part.etag}`;

function partFileNames(parts: readonly StoredPart[]): string[] {
  return parts.toSorted((a, b) => a.partNumber - b.partNumber).map(partFileName);
}

/**
 * Returns the version of an object of these parts. Other parts have another version, since etags
 * are random.
 */
export function versionOf(parts: readonly StoredPart[]): string {
  return createHash('sha256').update(partFileNames(parts).join('\n')).digest('hex');
}

/** Reads a JSON file of this store. Resolves with undefined if the file does not exist. */
export async function findJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Reads the manifest of an object. Resolves with undefined if there is none. Throws version_changed
 * if the file is damaged, so that it is no manifest any more.
 */
export async function findManifest(path: string): Promise<Manifest | undefined> {
  const json = await findJson<unknown>(path).catch((cause: unknown) => {
    throw cause instanceof SyntaxError ? new StorageError('version_changed', { cause }) : cause;
  });
  if (json === undefined) return undefined;
  const { success, data, error } = Manifest.safeParse(json);
  if (!success) throw new StorageError('version_changed', { cause: error });
  return data;
}

/**
 * Returns the part numbers of the parts that have no file in the upload's directory. Rejects with
 * ENOENT if the directory is missing.
 */
export async function findLostParts(
  directory: string,
  parts: readonly StoredPart[],
): Promise<number[]> {
  const present = new Set(await readdir(directory));
  const lost = parts.filter((part) => !present.has(partFileName(part)));
  return lost.map(({ partNumber }) => partNumber).toSorted((a, b) => a - b);
}

/**
 * Creates the manifest of an upload. Throws part_mismatch if a part is missing; rejects with ENOENT
 * if the directory is missing.
 */
export async function createManifest(
  directory: string,
  key: string,
  parts: readonly StoredPart[],
): Promise<Manifest> {
  const lost = await findLostParts(directory, parts);
  if (parts.length === 0 || lost.length > 0) throw new StorageError('part_mismatch');
  const names = partFileNames(parts);
  const files = await Promise.all(
    names.map(async (file) => ({ file, size: (await stat(join(directory, file))).size })),
  );
  return {
    key,
    version: versionOf(parts),
    size: files.reduce((sum, { size }) => sum + size, 0),
    createdAt: new Date().toISOString(),
    parts: files,
  };
}

/**
 * Returns the total size of the listed part files on disk, which differs from the manifest's `size`
 * if files were changed.
 */
export async function storedSize(directory: string, { parts }: Manifest): Promise<number> {
  const sizes = await Promise.all(parts.map(({ file }) => sizeOf(join(directory, file))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return 0;
    throw error;
  }
}

/** Removes parts that were received but are not in the manifest. */
export async function removeUnlisted(directory: string, manifest: Manifest): Promise<void> {
  const listed = new Set([...manifest.parts.map(({ file }) => file), manifestName, uploadName]);
  const unlisted = (await readdir(directory)).filter((name) => !listed.has(name));
  await Promise.all(unlisted.map((name) => rm(join(directory, name), { force: true })));
}
