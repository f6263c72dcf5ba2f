import { createSHA256, createSHA3 } from 'hash-wasm';
import type { Bytes } from '../bytes/bytes.ts';

export type HashAlgorithm = 'sha3-256' | 'sha256';

/** A hash of 32 bytes that is computed piece by piece. */
export interface StreamingHash {
  update(bytes: Bytes): void;
  /** Returns 64 hex digits in lower case. */
  digest(): string;
}

/** Creates hashes of files. A caller may bring an implementation of its own. */
export type CreateHash = (algorithm: HashAlgorithm) => Promise<StreamingHash>;

/** Creates a hash in WebAssembly, for browsers; `client/node/hash.ts` uses OpenSSL. */
export async function createWasmHash(algorithm: HashAlgorithm): Promise<StreamingHash> {
  const hasher = await (algorithm === 'sha256' ? createSHA256() : createSHA3(256));
  hasher.init();
  return {
    update: (bytes) => void hasher.update(bytes),
    digest: () => hasher.digest('hex'),
  };
}
