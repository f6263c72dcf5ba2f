import type { Bytes } from '../bytes/bytes.ts';

/** A file in the vault and the key that opens it. An opened share is one too. */
export interface StoredFile {
  readonly documentId: string;
  /** Counts from 1; the default is the current version. */
  readonly version?: number | undefined;
  readonly documentKey: Bytes;
  /** SHA3-256 of the encrypted file, 64 hex digits. */
  readonly fileHash: string;
}
