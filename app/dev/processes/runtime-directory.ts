import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const prefix = 'probatio-';
const shortEnough = 60;

/**
 * Makes a directory for what lives only while the stack runs: its path is short, because a Unix
 * socket's path may have 107 bytes at most and a checkout's may be longer.
 * Others may pass through (Postgres runs as another user under root) but not list it.
 * `noteFile` keeps its path, so that the directory of a killed predecessor is removed.
 */
export async function createRuntimeDirectory(noteFile: string): Promise<string> {
  const previous = await readFile(noteFile, 'utf8').catch(() => '');
  if (basename(previous).startsWith(prefix)) await rm(previous, { recursive: true, force: true });
  const directory = await mkdtemp(join(parentDirectory(), prefix));
  await chmod(directory, 0o711);
  await writeFile(noteFile, directory);
  return directory;
}

/** Root's own TMPDIR may be closed to the user that Postgres runs as. */
function parentDirectory(): string {
  return process.getuid?.() === 0 || tmpdir().length > shortEnough ? '/tmp' : tmpdir();
}

export async function removeRuntimeDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
}
