import type { Bytes } from '../bytes/bytes.ts';

/**
 * A file in the vault together with the key that decrypts it. An `OpenedShare` is also a
 * StoredFile.
 */
export interface StoredFile {
  readonly documentId: string;
  /** Version of the document, from 1; the default is the current version. */
  readonly version?: number | undefined;
  readonly documentKey: Bytes;
  /** SHA3-256 of the encrypted file, 64 hex digits. */
  readonly fileHash: string;
}
