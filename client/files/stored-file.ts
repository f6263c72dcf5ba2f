import type { Bytes } from '../bytes/bytes.ts';

/** A file in the vault and what opens it. An opened share is one too. */
export interface StoredFile {
  readonly documentId: string;
  /** The current one unless named. */
  readonly version?: number | undefined;
  readonly documentKey: Bytes;
  /** SHA3-256 of the encrypted file, 64 hex digits. */
  readonly fileHash: string;
}
