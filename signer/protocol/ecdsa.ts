import { p256 } from '@noble/curves/nist.js';

/** r and s, 32 bytes each: what CKM_ECDSA answers for a P-256 key. */
export const p256SignatureBytes = 64;

/** The DER form (RFC 3279 §2.2.3) of r ‖ s. Throws when they are out of range. */
export function encodeDerSignature(compact: Buffer): Buffer {
  return Buffer.from(p256.Signature.fromBytes(compact, 'compact').toBytes('der'));
}
