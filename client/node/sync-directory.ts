import { open } from 'node:fs/promises';

/**
 * Makes changes of a directory's entries durable, such as new and renamed files. Does nothing on
 * Windows, which has no such call and needs none.
 */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using directory = await open(path, 'r');
  await directory.sync();
}
