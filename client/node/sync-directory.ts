import { open } from 'node:fs/promises';

/** Makes the names in a directory durable. Windows has no such call and needs none. */
export async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using directory = await open(path, 'r');
  await directory.sync();
}
