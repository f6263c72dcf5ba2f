import { createSHA3 } from 'hash-wasm';
import type { Bytes } from '../bytes/bytes.ts';

/** SHA3-256 over a file that is never in memory as a whole. */
export interface FileHash {
  update(bytes: Bytes): void;
  /** 64 hex digits. */
  digest(): string;
}

export type CreateFileHash = () => Promise<FileHash>;

/** WebAssembly, for browsers; `client/node/file-hash.ts` has OpenSSL's. */
export async function createFileHash(): Promise<FileHash> {
  const hasher = await createSHA3(256);
  hasher.init();
  return {
    update: (bytes) => void hasher.update(bytes),
    digest: () => hasher.digest('hex'),
  };
}
