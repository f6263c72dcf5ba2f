import { createHmac, hkdfSync } from 'node:crypto';
import { ed25519, ed25519_hasher } from '@noble/curves/ed25519.js';
import { stringify } from 'uuid';

const suite = 'Probatio-V01-CS01-with-curve25519_XMD:SHA-512_ELL2_RO_';

/**
 * The public key, base64, that an address without one seems to have: stable as long as the key in
 * the HSM is, and with a private key that nobody knows. A tenant has its own, as it has its own
 * users: that an address has another key elsewhere tells nothing.
 */
export function decoyPublicKey(key: Buffer, tenantId: string, email: string): string {
  return hashToCurve25519(mac(key, 'sharing-decoy-v1', [tenantId, email]), suite).toString(
    'base64',
  );
}

/** What a sharer calls an address: a UUIDv8 (RFC 9562 §5.8) that says nothing to anyone else. */
export function recipientIdOf(key: Buffer, sharerId: string, email: string): string {
  const bytes = mac(key, 'sharing-recipient-v1', [sharerId, email]).subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return stringify(bytes);
}

/**
 * curve25519_XMD:SHA-512_ELL2_RO_ of RFC 9380 under the tag `dst`: the u-coordinate of a point of
 * the prime-order subgroup, 32 bytes little-endian. The suite of edwards25519 gives the same point
 * under the same tag, only in other coordinates (RFC 9380 §6.8.2).
 */
export function hashToCurve25519(message: Uint8Array, dst: string): Buffer {
  const point = ed25519_hasher.hashToCurve(message, { DST: dst });
  return Buffer.from(ed25519.utils.toMontgomery(point.toBytes()));
}

function mac(key: Buffer, purpose: string, parts: readonly string[]): Buffer {
  const derived = Buffer.from(hkdfSync('sha256', key, '', purpose, 32));
  return createHmac('sha256', derived).update(JSON.stringify(parts)).digest();
}
