import { randomUUID } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncDirectory } from './sync-directory.ts';

/**
 * Writes a file that only its owner may read, and replaces an existing file atomically and durably.
 * If the call fails or the process crashes, the path keeps its previous content. If `pieces`
 * throws, as `downloadFile` may, the partial file is removed.
 */
export async function writeFileAtomically(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
): Promise<void> {
  const partial = `${path}.${randomUUID()}.partial`;
  try {
    await writeDurably(partial, pieces);
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  await syncDirectory(dirname(path));
}

async function writeDurably(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  await using file = await open(path, 'wx', 0o600);
  for await (const piece of pieces) await file.appendFile(piece);
  await file.sync();
}
