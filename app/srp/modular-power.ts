import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';
import { promisify } from 'node:util';
import { generator, pad, primeBytes } from './group.ts';

/**
 * Modular exponentiation by OpenSSL on the thread pool, several times faster than BigInt and
 * constant time in the exponent. base^exponent mod N is the Diffie–Hellman secret of the public key
 * `base` and the private key `exponent`; node:crypto offers it only for keys, so both are encoded
 * as DER keys.
 */

const agree = promisify(diffieHellman);

/**
 * Resolves with base^exponent mod N as 384 bytes, big-endian, for 1 < base < N − 1 and a positive
 * exponent, big-endian. Rejects for the bases 0, 1 and N − 1, which OpenSSL refuses. Zeroes every
 * copy of the exponent except the given one; callers must zero the result if it is secret.
 */
export async function power(base: bigint, exponent: Uint8Array): Promise<Buffer> {
  return agree({ publicKey: publicKeyOf(base), privateKey: exponentKey(exponent) });
}

function exponentKey(exponent: Uint8Array): KeyObject {
  const number = integer(exponent);
  const octets = tlv(0x04, number);
  const key = tlv(0x30, integer(Buffer.of(0)), algorithm, octets);
  try {
    return createPrivateKey({ key, format: 'der', type: 'pkcs8' });
  } finally {
    for (const copy of [number, octets, key]) copy.fill(0);
  }
}

function publicKeyOf(value: bigint): KeyObject {
  const bits = tlv(0x03, Buffer.concat([Buffer.of(0), integer(pad(value))]));
  return createPublicKey({ key: tlv(0x30, algorithm, bits), format: 'der', type: 'spki' });
}

/** The AlgorithmIdentifier dhKeyAgreement (PKCS #3) with the parameters N and g. */
const algorithm = tlv(
  0x30,
  tlv(0x06, Buffer.from('2a864886f70d010301', 'hex')),
  tlv(0x30, integer(primeBytes), integer(Buffer.of(Number(generator)))),
);

/** Encodes a non-negative INTEGER in its shortest form. */
function integer(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.of(0) : bytes.subarray(first);
  const isHigh = (digits[0] ?? 0) >= 0x80;
  return isHigh ? tlv(0x02, Buffer.of(0), digits) : tlv(0x02, digits);
}

/** Encodes a DER element whose value is the concatenation of `members`. */
function tlv(tag: number, ...members: Uint8Array[]): Buffer {
  const length = members.reduce((sum, member) => sum + member.length, 0);
  let header = [length];
  if (length >= 0x100) header = [0x82, length >> 8, length & 0xff];
  else if (length >= 0x80) header = [0x81, length];
  return Buffer.concat([Buffer.of(tag, ...header), ...members]);
}
