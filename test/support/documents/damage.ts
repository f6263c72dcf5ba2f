import { open, rm, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Vault } from '../vault/vault.ts';
import { objectDirectory, partFile } from './stored-files.ts';

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

interface Damage {
  readonly what: string;
  readonly state: 'damaged' | 'missing';
  damage(vault: Vault, key: string): Promise<void>;
}
