import { createHash, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto';
import { ed25519 } from '@noble/curves/ed25519.js';

const fingerprintLabel = 'Service_Identity_Fingerprint_v1';
const { privateKey: anyKey } = generateKeyPairSync('x25519');

/** The public half of an identity: two keys of 32 bytes each, in base64. */
export interface PublicIdentity {
  /** The X25519 key for which documents are shared. */
  readonly publicKey: string;
  /** The Ed25519 key that verifies what the user signed. */
  readonly signingKey: string;
}

/**
 * Returns whether a base64 text is an acceptable X25519 public key: 32 bytes, and not a point of
 * small order, which would give every sender the same shared secret (RFC 7748 §6.1).
 */
export function isPublicKey(base64: string): boolean {
  const x = Buffer.from(base64, 'base64').toString('base64url');
  try {
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' });
    return diffieHellman({ privateKey: anyKey, publicKey }).length === 32;
  } catch {
    return false;
  }
}

/**
 * Returns whether a base64 text is an acceptable Ed25519 public key: 32 bytes that encode a point
 * of the subgroup of prime order, so that no signature fits two messages.
 */
export function isSigningKey(base64: string): boolean {
  try {
    const point = ed25519.Point.fromBytes(Buffer.from(base64, 'base64'));
    return !point.isSmallOrder() && point.isTorsionFree();
  } catch {
    return false;
  }
}

/**
 * Returns the fingerprint of an identity, which people compare: the first 16 bytes, in hex, of
 * SHA3-256(`Service_Identity_Fingerprint_v1` ‖ 0x00 ‖ publicKey ‖ signingKey).
 */
export function fingerprintOf({ publicKey, signingKey }: PublicIdentity): string {
  return createHash('sha3-256')
    .update(`${fingerprintLabel}\0`)
    .update(publicKey, 'base64')
    .update(signingKey, 'base64')
    .digest('hex')
    .slice(0, 32);
}
