import {
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPair,
  type KeyObject,
} from 'node:crypto';
import { promisify } from 'node:util';
import { generator, pad, primeBytes, toBigInt } from './group.ts';

/**
 * Modular exponentiation by OpenSSL on the thread pool, several times faster than BigInt and
 * constant time in the exponent. base^exponent mod N is the Diffie–Hellman secret of the public key
 * `base` and the private key `exponent`; node:crypto offers it only for keys, so both are encoded
 * as DER keys.
 */

const agree = promisify(diffieHellman);

/** Generates a DH key pair. Node supports the key type `dh`, which its declarations omit. */
const generate = promisify(generateKeyPair) as unknown as (
  type: 'dh',
  options: { readonly group: 'modp15' },
) => Promise<{ readonly privateKey: KeyObject; readonly publicKey: KeyObject }>;

/** A secret exponent and 2^exponent mod N. */
interface Ephemeral {
  /** PKCS #8 DER. Callers must zero it after use. */
  readonly privateKey: Buffer;
  readonly publicValue: bigint;
}

/** Generates an exponent of at least 256 random bits, and its power of the generator. */
export async function generateEphemeral(): Promise<Ephemeral> {
  const { privateKey, publicKey } = await generate('dh', { group: 'modp15' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }),
    publicValue: readPublicValue(spki),
  };
}

/**
 * Returns base^exponent mod N for 1 < base < N − 1. Rejects for the bases 0, 1 and N − 1, which
 * OpenSSL refuses.
 * @param exponent a key from `importExponent` or `exponentKey`.
 */
export async function power(base: bigint, exponent: KeyObject): Promise<bigint> {
  return toBigInt(await powerBytes(base, exponent));
}

/**
 * Returns base^exponent mod N as 384 bytes, big-endian. Callers must zero them if they are secret.
 */
export function powerBytes(base: bigint, exponent: KeyObject): Promise<Buffer> {
  return agree({ publicKey: publicKeyOf(base), privateKey: exponent });
}

/** Imports the exponent that a PKCS #8 DER key holds. */
export function importExponent(privateKey: Buffer): KeyObject {
  return createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' });
}

/**
 * Converts a positive big-endian number to an exponent. Zeroes every copy of the number except the
 * one in the returned key.
 */
export function exponentKey(exponent: Buffer): KeyObject {
  const number = integer(exponent);
  const octets = tlv(0x04, number);
  const key = tlv(0x30, integer(Buffer.of(0)), algorithm, octets);
  try {
    return importExponent(key);
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

/** Reads the INTEGER at the end of an SPKI. Its length varies, as it has no leading zeros. */
export function readPublicValue(spki: Buffer): bigint {
  const afterAlgorithm = readTlv(readTlv(spki).value).rest;
  const bits = readTlv(afterAlgorithm).value;
  return toBigInt(readTlv(bits.subarray(1)).value);
}

/** Returns the value of the first DER element of `der`, and the bytes after that element. */
function readTlv(der: Buffer): { readonly value: Buffer; readonly rest: Buffer } {
  const first = der.readUInt8(1);
  const lengthBytes = first < 0x80 ? 0 : first - 0x80;
  const length = lengthBytes === 0 ? first : der.readUIntBE(2, lengthBytes);
  const start = 2 + lengthBytes;
  return { value: der.subarray(start, start + length), rest: der.subarray(start + length) };
}

/** Encodes a non-negative INTEGER in its shortest form. */
function integer(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.of(0) : bytes.subarray(first);
  const isHigh = (digits[0] ?? 0) >= 0x80;
  return isHigh ? tlv(0x02, Buffer.of(0), digits) : tlv(0x02, digits);
}

/** Encodes a DER element whose value is the concatenation of `members`. */
function tlv(tag: number, ...members: Buffer[]): Buffer {
  const length = members.reduce((sum, member) => sum + member.length, 0);
  let header = [length];
  if (length >= 0x100) header = [0x82, length >> 8, length & 0xff];
  else if (length >= 0x80) header = [0x81, length];
  return Buffer.concat([Buffer.of(tag, ...header), ...members]);
}
