import type { Bytes } from '../bytes/bytes.ts';

/**
 * A file in the vault together with the key that decrypts it. An `OpenedShare` is also a
 * StoredFile.
 */
export interface StoredFile {
  readonly documentId: string;
  /** Version of the document, from 1. */
  readonly version: number;
  /** The key of the file of this version, 32 bytes. */
  readonly fileKey: Bytes;
  /** SHA3-256 of the encrypted file, 64 hex digits. */
  readonly fileHash: string;
}
