import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { deriveGcmKey, nonceBytes } from '../crypto/aes-gcm.ts';
import type { FileHeader } from './header.ts';

const chunkLabel = 'Service_File_Chunk_v1';

export interface ChunkPosition {
  /** Counts from 0. */
  readonly index: number;
  readonly isLast: boolean;
}

export type ChunkCipher = Awaited<ReturnType<typeof createChunkCipher>>;

/**
 * Creates the cipher of a file's chunks: STREAM (Hoang, Reyhanitabar, Rogaway, Vizár 2015) over
 * AES-256-GCM. The nonce counts the chunks and marks the last, so that a moved, dropped or added
 * chunk is detected, and every chunk authenticates the header.
 */
export async function createChunkCipher(
  fileKey: Bytes,
  { encoded: additionalData, salt, noncePrefix }: FileHeader,
) {
  const key = await deriveGcmKey(fileKey, chunkLabel, salt);

  function algorithm({ index, isLast }: ChunkPosition) {
    const iv = new Uint8Array(nonceBytes);
    iv.set(noncePrefix);
    new DataView(iv.buffer).setUint32(noncePrefix.length, index);
    iv[nonceBytes - 1] = isLast ? 1 : 0;
    return { name: 'AES-GCM', iv, additionalData };
  }

  return {
    /**
     * Encrypts a chunk. Callers MUST NOT encrypt two different plaintexts at the same index: that
     * would disclose the authentication key of GCM.
     */
    async encrypt(position: ChunkPosition, plaintext: Bytes): Promise<Bytes> {
      return new Uint8Array(await crypto.subtle.encrypt(algorithm(position), key, plaintext));
    },
    /**
     * Decrypts a chunk. Throws authentication_failed unless the bytes are the chunk at this
     * position of this file.
     */
    async decrypt(position: ChunkPosition, ciphertext: Bytes): Promise<Bytes> {
      try {
        return new Uint8Array(await crypto.subtle.decrypt(algorithm(position), key, ciphertext));
      } catch (cause) {
        throw new ClientError('authentication_failed', { cause });
      }
    },
  };
}
