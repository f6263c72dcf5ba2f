import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { deriveGcmKey, nonceBytes } from '../crypto/aes-gcm.ts';
import type { FileHeader } from './header.ts';

const chunkLabel = 'Service_File_Chunk_v1';

export interface ChunkPosition {
  /** From 0. */
  readonly index: number;
  readonly isLast: boolean;
}

export interface ChunkCipher {
  /** Never call it twice for one index with different plaintexts: GCM would give its key away. */
  encrypt(position: ChunkPosition, plaintext: Bytes): Promise<Bytes>;
  /** Throws authentication_failed for bytes that are not this chunk of this file. */
  decrypt(position: ChunkPosition, ciphertext: Bytes): Promise<Bytes>;
}

/**
 * STREAM (Hoang, Reyhanitabar, Rogaway, Vizár 2015) over AES-256-GCM: the nonce counts the chunks
 * and marks the last, so that none can be moved, dropped or added; each one authenticates the header.
 */
export async function createChunkCipher(
  documentKey: Bytes,
  { encoded: additionalData, salt, noncePrefix }: FileHeader,
): Promise<ChunkCipher> {
  const key = await deriveGcmKey(documentKey, chunkLabel, salt);

  function algorithm({ index, isLast }: ChunkPosition) {
    const iv = new Uint8Array(nonceBytes);
    iv.set(noncePrefix);
    new DataView(iv.buffer).setUint32(noncePrefix.length, index);
    iv[nonceBytes - 1] = isLast ? 1 : 0;
    return { name: 'AES-GCM', iv, additionalData };
  }

  return {
    async encrypt(position, plaintext) {
      return new Uint8Array(await crypto.subtle.encrypt(algorithm(position), key, plaintext));
    },
    async decrypt(position, ciphertext) {
      try {
        return new Uint8Array(await crypto.subtle.decrypt(algorithm(position), key, ciphertext));
      } catch (cause) {
        throw new ClientError('authentication_failed', { cause });
      }
    },
  };
}
