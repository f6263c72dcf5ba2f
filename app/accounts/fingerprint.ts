import { createHash } from 'node:crypto';

/** First 8 hex digits of H(salt ‖ verifier): what the mail and the client both show. */
export function fingerprint(salt: string, verifier: string): string {
  return createHash('sha3-256')
    .update(Buffer.from(salt, 'hex'))
    .update(Buffer.from(verifier, 'hex'))
    .digest('hex')
    .slice(0, 8);
}
