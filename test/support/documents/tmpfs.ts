import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Whether this process may mount file systems. */
export const mayMount = process.platform === 'linux' && process.getuid?.() === 0;

/** An empty file system of its own on a directory. `size` as mount(8) takes it, such as 8m. */
export async function mountTmpfs(directory: string, size: string): Promise<void> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', directory]);
}
