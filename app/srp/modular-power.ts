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
 * Modular powers by OpenSSL on the thread pool: base^exponent mod N is the Diffie–Hellman secret of
 * the public key `base` and the private key `exponent`, several times faster than BigInt and
 * constant-time in the exponent. OpenSSL has no other entrance, so both are dressed as DER keys.
 */

const agree = promisify(diffieHellman);

/** Node knows the type `dh`, its type declarations do not. */
const generate = promisify(generateKeyPair) as unknown as (
  type: 'dh',
  options: { group: 'modp15' },
) => Promise<{ privateKey: KeyObject; publicKey: KeyObject }>;

/** A secret exponent and 2^exponent mod N. */
interface Ephemeral {
  /** PKCS #8 DER; zero it after use. */
  readonly privateKey: Buffer;
  readonly publicValue: bigint;
}

/** A fresh exponent of at least 256 random bits. */
export async function generateEphemeral(): Promise<Ephemeral> {
  const { privateKey, publicKey } = await generate('dh', { group: 'modp15' });
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return {
    privateKey: privateKey.export({ type: 'pkcs8', format: 'der' }),
    publicValue: readPublicValue(spki),
  };
}

/**
 * base^exponent mod N, 1 < base < N − 1. OpenSSL refuses the bases 0, 1 and N − 1.
 * @param exponent a key from `generateEphemeral` or `exponentKey`.
 */
export async function power(base: bigint, exponent: KeyObject): Promise<bigint> {
  return toBigInt(await powerBytes(base, exponent));
}

/** The same in 384 bytes, big-endian; zero them after use where they are secret. */
export function powerBytes(base: bigint, exponent: KeyObject): Promise<Buffer> {
  return agree({ publicKey: publicKeyOf(base), privateKey: exponent });
}

/** The exponent held in a PKCS #8 DER key. */
export function importExponent(privateKey: Buffer): KeyObject {
  return createPrivateKey({ key: privateKey, format: 'der', type: 'pkcs8' });
}

/** A positive big-endian number as exponent. Leaves no copy of it but the key's own. */
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

/** AlgorithmIdentifier dhKeyAgreement (PKCS #3) with N and g. */
const algorithm = tlv(
  0x30,
  tlv(0x06, Buffer.from('2a864886f70d010301', 'hex')),
  tlv(0x30, integer(primeBytes), integer(Buffer.of(Number(generator)))),
);

/** The INTEGER at the end of an SPKI. It has no leading zeros: its length varies. */
export function readPublicValue(spki: Buffer): bigint {
  const afterAlgorithm = readTlv(readTlv(spki).value).rest;
  const bits = readTlv(afterAlgorithm).value;
  return toBigInt(readTlv(bits.subarray(1)).value);
}

/** The value of the element that `der` begins with, and what comes after it. */
function readTlv(der: Buffer): { value: Buffer; rest: Buffer } {
  const first = der.readUInt8(1);
  const lengthBytes = first < 0x80 ? 0 : first - 0x80;
  const length = lengthBytes === 0 ? first : der.readUIntBE(2, lengthBytes);
  const start = 2 + lengthBytes;
  return { value: der.subarray(start, start + length), rest: der.subarray(start + length) };
}

/** A non-negative INTEGER in its shortest form. */
function integer(bytes: Buffer): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const digits = first === -1 ? Buffer.of(0) : bytes.subarray(first);
  const isHigh = (digits[0] ?? 0) >= 0x80;
  return isHigh ? tlv(0x02, Buffer.of(0), digits) : tlv(0x02, digits);
}

/** An element whose value is `members` one after the other. */
function tlv(tag: number, ...members: Buffer[]): Buffer {
  const length = members.reduce((sum, member) => sum + member.length, 0);
  let header = [length];
  if (length >= 0x100) header = [0x82, length >> 8, length & 0xff];
  else if (length >= 0x80) header = [0x81, length];
  return Buffer.concat([Buffer.of(tag, ...header), ...members]);
}
