import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { moveDurably, syncDirectory } from './durable.ts';

/** Other processes may share the directory: what is younger may be theirs and in use. */
const leftoverMs = 60 * 60 * 1000;

/** Makes `directory` appear at once with what `fill` puts into it. */
export async function publishDirectory(
  scratch: string,
  directory: string,
  fill: (path: string) => Promise<void>,
): Promise<void> {
  const path = join(scratch, randomUUID());
  await mkdir(path, { mode: 0o700 });
  await fill(path);
  await syncDirectory(path);
  await moveDurably(path, directory);
}

/**
 * Makes `directory` disappear at once, then frees its space. Rejects with ENOENT when it is not there; what a removal
 * of it that was cut off has left is gone then.
 */
export async function removeDirectory(scratch: string, directory: string): Promise<void> {
  const path = join(scratch, basename(directory));
  await rm(path, { recursive: true, force: true });
  await moveDurably(directory, path);
  await rm(path, { recursive: true, force: true });
}

/** Removes what processes that died have left in the scratch directory. */
export async function removeLeftovers(scratch: string): Promise<void> {
  for (const name of await readdir(scratch)) {
    const path = join(scratch, name);
    const entry = await stat(path).catch(() => undefined);
    if (entry && Date.now() - entry.mtimeMs > leftoverMs) {
      await rm(path, { recursive: true, force: true });
    }
  }
}
