import { createHash } from 'node:crypto';

/**
 * Returns the first 8 hex digits of SHA3-256(salt ‖ verifier), which both the validation mail and
 * the client show. Both arguments are hex.
 */
export function fingerprint(salt: string, verifier: string): string {
  return createHash('sha3-256')
    .update(Buffer.from(salt, 'hex'))
    .update(Buffer.from(verifier, 'hex'))
    .digest('hex')
    .slice(0, 8);
}
