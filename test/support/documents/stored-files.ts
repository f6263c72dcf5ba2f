import { open, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createLayout } from '../../../app/storage/filesystem/layout.ts';
import type { Vault } from '../vault/vault.ts';
import { createSql } from '../vault/sql.ts';

/** Returns the directory in which the store keeps the parts of an open upload session. */
export async function sessionDirectory(vault: Vault, sessionId: string): Promise<string> {
  const [session] = await createSql(vault)(
    'select storage_upload_id from upload_sessions where id = $1',
    [sessionId],
  );
  const uploads = path.join(vault.storeDirectory, 'uploads');
  for (const name of await readdir(uploads)) {
    // Other uploads may be completed or aborted at this moment.
    const record = await readFile(path.join(uploads, name, 'upload.json'), 'utf8').catch(() => '');
    if (record.includes(String(session?.storage_upload_id))) return path.join(uploads, name);
  }
  throw new Error('the store has no such upload');
}

/** Returns the inode and the modification time of each stored file of an upload session. */
export async function storedFiles(
  vault: Vault,
  sessionId: string,
): Promise<Record<string, string>> {
  const directory = await sessionDirectory(vault, sessionId);
  const files: Record<string, string> = {};
  for (const name of (await readdir(directory)).sort()) {
    const { ino, mtimeMs } = await stat(path.join(directory, name));
    files[name] = `${ino} ${mtimeMs}`;
  }
  return files;
}

/** Returns the directory in which the store keeps a completed object. */
export function objectDirectory(vault: Vault, key: string): string {
  return createLayout(vault.storeDirectory).objectDirectory(key);
}

export function hasObject(vault: Vault, key: string): Promise<boolean> {
  return isThere(objectDirectory(vault, key));
}

/** Returns whether a file or directory of this name exists. */
export function isThere(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  );
}

/** Returns the path of the first part's file of a completed object. */
export async function partFile(vault: Vault, key: string): Promise<string> {
  const directory = objectDirectory(vault, key);
  const name = (await readdir(directory)).find((file) => file.startsWith('1-'));
  return path.join(directory, name ?? '');
}

interface Damage {
  readonly what: string;
  readonly state: 'damaged' | 'missing';
  damage(vault: Vault, key: string): Promise<void>;
}

/** Ways in which a file of the embedded store can be damaged, and the state that checks report. */
export const damages: readonly Damage[] = [
  {
    what: 'bit rot',
    state: 'damaged',
    damage: async (vault, key) => {
      const file = await open(await partFile(vault, key), 'r+');
      const { buffer } = await file.read({ buffer: Buffer.alloc(1), position: 40 });
      buffer[0] = (buffer[0] ?? 0) ^ 1;
      await file.write(buffer, 0, 1, 40);
      await file.close();
    },
  },
  {
    what: 'truncated',
    state: 'damaged',
    damage: async (vault, key) => truncate(await partFile(vault, key), 50),
  },
  {
    what: 'a damaged manifest',
    state: 'damaged',
    damage: (vault, key) => writeFile(path.join(objectDirectory(vault, key), 'manifest.json'), '{'),
  },
  {
    what: 'missing',
    state: 'missing',
    damage: (vault, key) => rm(objectDirectory(vault, key), { recursive: true }),
  },
];
