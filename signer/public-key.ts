import { createPublicKey, hash } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import * as ck from './pkcs11.ts';

const P256_COORDINATE_BYTES = 32;
const P256_POINT_BYTES = 1 + 2 * P256_COORDINATE_BYTES;

/** The P-256 public key of a token object. Throws when the object is no such key. */
export function readEcPublicKey(session: ck.Session, object: ck.Handle): KeyObject {
  const attribute = session.readAttribute(object, ck.CKA_EC_POINT);
  // The standard wraps the point in an OCTET STRING; some tokens leave that out.
  const point = attribute.subarray(-P256_POINT_BYTES);
  if (point.length !== P256_POINT_BYTES || point[0] !== 4)
    throw new TypeError('the audit key is not an uncompressed P-256 point');
  return createPublicKey({
    format: 'jwk',
    key: {
      kty: 'EC',
      crv: 'P-256',
      x: point.subarray(1, 1 + P256_COORDINATE_BYTES).toString('base64url'),
      y: point.subarray(1 + P256_COORDINATE_BYTES).toString('base64url'),
    },
  });
}

/** The RSA public key of a token object. */
export function readRsaPublicKey(session: ck.Session, object: ck.Handle): KeyObject {
  return createPublicKey({
    format: 'jwk',
    key: {
      kty: 'RSA',
      n: session.readAttribute(object, ck.CKA_MODULUS).toString('base64url'),
      e: session.readAttribute(object, ck.CKA_PUBLIC_EXPONENT).toString('base64url'),
    },
  });
}

/** SubjectPublicKeyInfo, DER. */
export function exportSpki(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

/** SHA-256 of the SPKI DER, first 16 bytes, lowercase hex. */
export function computeKeyId(spki: Buffer): string {
  return hash('sha256', spki, 'buffer').subarray(0, 16).toString('hex');
}
