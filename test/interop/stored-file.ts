import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { createObjectStore } from '../../app/storage/create-store.ts';
import type { TestVault } from '../support/vault/vault.ts';

/** Returns the encrypted file with this SHA3-256 from the vault's object store. */
export async function readStoredFile({ config }: TestVault, fileHash: string): Promise<Buffer> {
  const store = await createObjectStore(config.storage);
  try {
    for await (const { key } of store.listObjects()) {
      const bytes = await buffer((await store.get(key)).body);
      if (createHash('sha3-256').update(bytes).digest('hex') === fileHash) return bytes;
    }
    throw new Error('the vault stores no file with this hash');
  } finally {
    await store.close();
  }
}
