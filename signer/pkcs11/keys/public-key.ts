import { createPublicKey, hash, type JsonWebKey, type KeyObject } from 'node:crypto';
import type { SigningPurpose } from '../../protocol/protocol.ts';
import * as ck from '../library/pkcs11.ts';

const p256CoordinateBytes = 32;
const p256PointBytes = 1 + 2 * p256CoordinateBytes;
const octetStringHeaderBytes = 2;

export interface PublicKey {
  readonly publicKey: KeyObject;
  /** The SubjectPublicKeyInfo in DER. */
  readonly spki: Buffer;
  /** SHA-256 of the SPKI DER, first 16 bytes, lowercase hex. */
  readonly keyId: string;
}

/** The types of the attributes that make up the public key of a token object. */
export const publicKeyAttributes: Record<SigningPurpose, readonly number[]> = {
  audit: [ck.CKA_EC_POINT],
  token: [ck.CKA_MODULUS, ck.CKA_PUBLIC_EXPONENT],
};

/**
 * Parses the values of `publicKeyAttributes`. Returns undefined for anything but an uncompressed
 * P-256 point or the two numbers of an RSA key.
 */
export type PublicKeyParser = (
  purpose: SigningPurpose,
  values: readonly Buffer[],
) => PublicKey | undefined;

/**
 * Creates a parser with a cache, because parsing a key takes longer than reading it from a local
 * token.
 */
export function createPublicKeyParser(): PublicKeyParser {
  const parsed = new Map<string, PublicKey>();
  return (purpose, values) => {
    const name = values.map((value) => value.toString('base64')).join();
    const key = parsed.get(name) ?? parsePublicKey(purpose, values);
    if (key !== undefined) parsed.set(name, key);
    return key;
  };
}

function parsePublicKey(purpose: SigningPurpose, values: readonly Buffer[]): PublicKey | undefined {
  const key = purpose === 'audit' ? readEcPoint(values) : readRsaNumbers(values);
  if (key === undefined) return undefined;
  const publicKey = createPublicKey({ format: 'jwk', key });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return { publicKey, spki, keyId: hash('sha256', spki, 'buffer').toString('hex', 0, 16) };
}

function readEcPoint([attribute = Buffer.alloc(0)]: readonly Buffer[]): JsonWebKey | undefined {
  // PKCS#11 wraps the point in a DER OCTET STRING, which some tokens omit.
  const header = attribute.length - p256PointBytes;
  const point = attribute.subarray(header);
  if ((header !== 0 && header !== octetStringHeaderBytes) || point[0] !== 4) return undefined;
  return {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 1 + p256CoordinateBytes).toString('base64url'),
    y: point.subarray(1 + p256CoordinateBytes).toString('base64url'),
  };
}

function readRsaNumbers([modulus, exponent]: readonly Buffer[]): JsonWebKey | undefined {
  if (modulus === undefined || exponent === undefined) return undefined;
  return { kty: 'RSA', n: modulus.toString('base64url'), e: exponent.toString('base64url') };
}
