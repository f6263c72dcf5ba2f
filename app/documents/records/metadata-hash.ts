import { createHash } from 'node:crypto';

/** Returns the hex SHA3-256 of the decoded base64, by which audit entries identify metadata. */
export function hashMetadata(encryptedMetadata: string): string {
  return createHash('sha3-256').update(Buffer.from(encryptedMetadata, 'base64')).digest('hex');
}
