import { execFile } from 'node:child_process';
import { hash } from 'node:crypto';
import { readdirSync, readFileSync, readlinkSync, lstatSync, type Stats } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { docker } from './docker.ts';

const run = promisify(execFile);

/** Writes the file system of an image to a directory, with its owners and modes. */
export async function exportImage(image: string, directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const id = await docker('create', image);
  const extract = 'set -o pipefail; "$IMAGES_DOCKER" export "$0" | tar -xp --numeric-owner -C "$1"';
  await run('bash', ['-c', extract, id, directory]);
  await docker('rm', id);
}

/**
 * Describes each file, directory and link below a directory: by its path, the mode, the owner and
 * the SHA-256 of its content.
 */
export function describeFiles(directory: string): ReadonlyMap<string, string> {
  return new Map(
    pathsBelow(directory).map((path) => [path, describe(join(directory, path))] as const),
  );
}

/** Returns the paths of everything below a directory, relative to it. It follows no link. */
export function pathsBelow(directory: string): readonly string[] {
  const paths: string[] = [];
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    paths.push(entry.name);
    if (!entry.isDirectory()) continue;
    for (const path of pathsBelow(join(directory, entry.name))) paths.push(join(entry.name, path));
  }
  return paths.toSorted();
}

function describe(path: string): string {
  const stats = lstatSync(path);
  const { mode, uid, gid } = stats;
  return `${mode.toString(8)} ${uid}:${gid} ${contentOf(path, stats)}`;
}

function contentOf(path: string, stats: Stats): string {
  if (stats.isFile()) return hash('sha256', readFileSync(path));
  return stats.isSymbolicLink() ? readlinkSync(path) : '';
}

/** Returns the paths that differ, or that only one of two descriptions has. */
export function differences(
  one: ReadonlyMap<string, string>,
  other: ReadonlyMap<string, string>,
): readonly string[] {
  return [...new Set([...one.keys(), ...other.keys()])]
    .filter((path) => one.get(path) !== other.get(path))
    .toSorted();
}
