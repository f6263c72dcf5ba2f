import { createHash } from 'node:crypto';
import { readFile, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { StoredPart } from '../interface/object-store.ts';
import { StorageError } from '../interface/storage-error.ts';
import { hasErrno } from './file-error.ts';

export const manifestName = 'manifest.json';
export const uploadName = 'upload.json';

interface PartFile {
  file: string;
  size: number;
}

export interface Manifest {
  key: string;
  version: string;
  size: number;
  createdAt: string;
  parts: PartFile[];
}

export const partFileName = (part: StoredPart) => `${part.partNumber}-${part.etag}`;

function partFileNames(parts: readonly StoredPart[]): string[] {
  return parts.toSorted((a, b) => a.partNumber - b.partNumber).map(partFileName);
}

/** The same parts give the same version, and as etags are random, only they do. */
export function versionOf(parts: readonly StoredPart[]): string {
  return createHash('sha256').update(partFileNames(parts).join('\n')).digest('hex');
}

/** What a file of this store holds, or undefined when it is not there. */
export async function findJson<T>(path: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as T;
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** The numbers of parts whose files are not there. Rejects with ENOENT when the directory is not. */
export async function findLostParts(
  directory: string,
  parts: readonly StoredPart[],
): Promise<number[]> {
  const present = new Set(await readdir(directory));
  const lost = parts.filter((part) => !present.has(partFileName(part)));
  return lost.map(({ partNumber }) => partNumber).toSorted((a, b) => a - b);
}

/** Throws part_mismatch when a part is missing; rejects with ENOENT when the directory is. */
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

/** How many bytes of the listed parts are there: not the manifest's `size` if someone else was here. */
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

/** Removes parts that were sent and not used. */
export async function removeUnlisted(directory: string, manifest: Manifest): Promise<void> {
  const listed = new Set([...manifest.parts.map(({ file }) => file), manifestName, uploadName]);
  const unlisted = (await readdir(directory)).filter((name) => !listed.has(name));
  await Promise.all(unlisted.map((name) => rm(join(directory, name), { force: true })));
}
