import { createSHA3 } from 'hash-wasm';
import type { Bytes } from '../bytes/bytes.ts';

/** SHA3-256 of a file, computed piece by piece. A caller may bring an implementation of its own. */
export interface FileHash {
  update(bytes: Bytes): void;
  /** Returns 64 hex digits in lower case. */
  digest(): string;
}

export type CreateFileHash = () => Promise<FileHash>;

/** Creates a hash in WebAssembly, for browsers; `client/node/file-hash.ts` uses OpenSSL. */
export async function createFileHash(): Promise<FileHash> {
  const hasher = await createSHA3(256);
  hasher.init();
  return {
    update: (bytes) => void hasher.update(bytes),
    digest: () => hasher.digest('hex'),
  };
}
