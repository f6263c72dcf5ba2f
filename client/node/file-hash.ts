import { createHash } from 'node:crypto';
import type { FileHash } from '../files/hash.ts';

/** Creates a SHA3-256 hash that is computed by the OpenSSL of Node. */
export async function createNodeFileHash(): Promise<FileHash> {
  const hash = createHash('sha3-256');
  return {
    update: (bytes) => void hash.update(bytes),
    digest: () => hash.digest('hex'),
  };
}
