import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { moveDurably, syncDirectory } from './durable.ts';

/**
 * Age above which a scratch directory counts as left by a crash. A younger directory may be in use
 * by another process that shares the store.
 */
const leftoverMs = 60 * 60 * 1000;

/**
 * Creates `directory` atomically, with the content that `fill` writes. A failure leaves nothing in
 * scratch, since a full file system would otherwise lose an inode at each attempt.
 */
export async function publishDirectory(
  scratch: string,
  directory: string,
  fill: (path: string) => Promise<void>,
): Promise<void> {
  const path = join(scratch, randomUUID());
  try {
    await mkdir(path, { mode: 0o700 });
    await fill(path);
    await syncDirectory(path);
    await moveDurably(path, directory);
  } catch (error) {
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * Removes `directory` atomically, then frees its space. Rejects with ENOENT if `directory` does not
 * exist, but first deletes what an interrupted removal of it has left in scratch.
 */
export async function removeDirectory(scratch: string, directory: string): Promise<void> {
  const path = join(scratch, basename(directory));
  await rm(path, { recursive: true, force: true });
  await moveDurably(directory, path);
  await rm(path, { recursive: true, force: true });
}

/** Removes directories that crashed processes left in the scratch directory. */
export async function removeLeftovers(scratch: string): Promise<void> {
  for (const name of await readdir(scratch)) {
    const path = join(scratch, name);
    const entry = await stat(path).catch(() => undefined);
    if (entry !== undefined && Date.now() - entry.mtimeMs > leftoverMs) {
      await rm(path, { recursive: true, force: true });
    }
  }
}
