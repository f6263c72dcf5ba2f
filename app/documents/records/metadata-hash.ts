import { createHash } from 'node:crypto';

/**
 * Returns the SHA3-256 of base64-encoded metadata in hex, computed over the decoded bytes. Audit
 * entries identify metadata by this hash.
 */
export function hashMetadata(encryptedMetadata: string): string {
  return createHash('sha3-256').update(Buffer.from(encryptedMetadata, 'base64')).digest('hex');
}
