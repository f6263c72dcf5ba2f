import { p256 } from '@noble/curves/nist.js';

/** Length of a signature r ‖ s, 32 bytes each, that CKM_ECDSA makes with a P-256 key. */
export const p256SignatureBytes = 64;

/** Encodes r ‖ s in DER (RFC 3279 §2.2.3). Throws if r or s is out of range. */
export function encodeDerSignature(compact: Buffer): Buffer {
  return Buffer.from(p256.Signature.fromBytes(compact, 'compact').toBytes('der'));
}
