import { createHmac, hkdfSync, randomBytes } from 'node:crypto';
import { ed25519, ed25519_hasher } from '@noble/curves/ed25519.js';
import { stringify } from 'uuid';
import type { PublicIdentity } from './public-identity.ts';

const sharingSuite = 'Probatio-V01-CS01-with-curve25519_XMD:SHA-512_ELL2_RO_';
const signingSuite = 'Probatio-V01-CS01-with-edwards25519_XMD:SHA-512_ELL2_RO_';

/**
 * Returns the decoy identity for an e-mail address that has none. The decoy stays the same as long
 * as `key`, which the HSM determines, stays the same, and nobody knows its private keys. Each
 * tenant has its own decoys, because each tenant has its own users: different keys in another
 * tenant therefore reveal nothing.
 */
export function decoyIdentity(key: Buffer, tenantId: string, email: string): PublicIdentity {
  const macOf = (purpose: string) => mac(key, purpose, [tenantId, email]);
  return {
    publicKey: hashToCurve25519(macOf('sharing-decoy-v1'), sharingSuite).toString('base64'),
    signingKey: hashToEdwards25519(macOf('signing-decoy-v1')),
  };
}

/**
 * Returns a public Ed25519 key whose private half nobody knows, for a user whose client sent none:
 * without a signing key, the user could be told from a decoy.
 */
export function randomSigningKey(): string {
  return hashToEdwards25519(randomBytes(32));
}

/**
 * Returns the recipient id by which one sharer refers to an e-mail address: a UUIDv8 (RFC 9562
 * §5.8) from which nobody without `key` can find out the e-mail address.
 */
export function recipientIdOf(key: Buffer, sharerId: string, email: string): string {
  const bytes = mac(key, 'sharing-recipient-v1', [sharerId, email]).subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return stringify(bytes);
}

/**
 * Hashes a message to a point of the prime-order subgroup with curve25519_XMD:SHA-512_ELL2_RO_ of
 * RFC 9380 under the tag `dst`. Returns its u-coordinate, 32 bytes little-endian. The edwards25519
 * suite, which the code uses, gives the same point under the same tag in Edwards coordinates (RFC
 * 9380 §6.8.2).
 */
export function hashToCurve25519(message: Uint8Array, dst: string): Buffer {
  const point = ed25519_hasher.hashToCurve(message, { DST: dst });
  return Buffer.from(ed25519.utils.toMontgomery(point.toBytes()));
}

/** Hashes a message to a point with edwards25519_XMD:SHA-512_ELL2_RO_ of RFC 9380, in base64. */
function hashToEdwards25519(message: Uint8Array): string {
  const point = ed25519_hasher.hashToCurve(message, { DST: signingSuite });
  return Buffer.from(point.toBytes()).toString('base64');
}

function mac(key: Buffer, purpose: string, parts: readonly string[]): Buffer {
  const derived = Buffer.from(hkdfSync('sha256', key, '', purpose, 32));
  return createHmac('sha256', derived).update(JSON.stringify(parts)).digest();
}
