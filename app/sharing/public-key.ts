import { createHash, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto';

const { privateKey: anyKey } = generateKeyPairSync('x25519');

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

/** Returns the fingerprint that people compare: 16 bytes of the key's SHA3-256, in hex. */
export function fingerprintOf(publicKey: string): string {
  return createHash('sha3-256').update(publicKey, 'base64').digest('hex').slice(0, 32);
}
