import { createHash } from 'node:crypto';

/** SHA3-256 of the bytes that the base64 stands for, hex: how entries name metadata. */
export function hashMetadata(encryptedMetadata: string): string {
  return createHash('sha3-256').update(Buffer.from(encryptedMetadata, 'base64')).digest('hex');
}
