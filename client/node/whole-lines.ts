import { open, readFile } from 'node:fs/promises';

const lineFeed = 0x0a;

/**
 * Reads the lines of a file; returns no lines if the file does not exist. If a crash has truncated
 * the last line, removes that line from the file durably.
 */
export async function readWholeLines(path: string): Promise<string[]> {
  const bytes = await readIfPresent(path);
  const end = bytes.lastIndexOf(lineFeed) + 1;
  if (end < bytes.length) await truncate(path, end);
  return bytes.toString('utf8', 0, end).split('\n').slice(0, -1);
}

async function readIfPresent(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT')
      return Buffer.alloc(0);
    throw error;
  }
}

async function truncate(path: string, length: number): Promise<void> {
  await using file = await open(path, 'r+');
  await file.truncate(length);
  await file.sync();
}
