import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Whether this process has the right to mount file systems. */
export const mayMount = process.platform === 'linux' && process.getuid?.() === 0;

/**
 * Mounts an empty file system on a directory. `size` has the format of mount(8), such as 8m, and
 * may be followed by a comma and further options.
 */
export async function mountTmpfs(directory: string, size: string): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory]);
}

export async function unmount(directory: string): Promise<void> {
  await run('umount', ['--lazy', directory]);
}
