import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

const prefix = 'probatio-';
const shortEnough = 60;

/**
 * Creates a directory for files that exist only while the stack runs. The path of the directory is
 * short, because the path of a Unix socket may have at most 107 bytes, which the path of a checkout
 * may exceed. Other users can open files in the directory (under root, Postgres runs as another
 * user) but cannot list it. The path is recorded in `noteFile`, so that the next start removes the
 * directory of a stack that was killed.
 */
export async function createRuntimeDirectory(noteFile: string): Promise<string> {
  const previous = await readFile(noteFile, 'utf8').catch(() => '');
  if (basename(previous).startsWith(prefix)) await rm(previous, { recursive: true, force: true });
  const directory = await mkdtemp(join(parentDirectory(), prefix));
  await chmod(directory, 0o711);
  await writeFile(noteFile, directory);
  return directory;
}

/**
 * Returns the system's directory for temporary files. Returns /tmp instead if that path is too
 * long, and for root, since the user that Postgres runs as may have no access to root's TMPDIR.
 */
function parentDirectory(): string {
  return process.getuid?.() === 0 || tmpdir().length > shortEnough ? '/tmp' : tmpdir();
}

export async function removeRuntimeDirectory(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
}
