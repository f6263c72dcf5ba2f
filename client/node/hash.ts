import { createHash } from 'node:crypto';
import type { HashAlgorithm, StreamingHash } from '../crypto/hash.ts';

/** Creates a hash that is computed by the OpenSSL of Node. */
export async function createNodeHash(algorithm: HashAlgorithm): Promise<StreamingHash> {
  const hash = createHash(algorithm);
  return {
    update: (bytes) => void hash.update(bytes),
    digest: () => hash.digest('hex'),
  };
}
