import { getDiffieHellman } from 'node:crypto';

/** RFC 3526 group 15: the 3072-bit prime of RFC 5054, with the generator g = 2. */
export const group = getDiffieHellman('modp15');

/** Length of N and of every padded group element, in bytes. */
const elementBytes = 384;
export const primeBytes: Buffer = group.getPrime();
export const primeHex = primeBytes.toString('hex');
export const prime = BigInt(`0x${primeHex}`);
export const generator = 2n;

/** Returns PAD(value) of RFC 5054: 384 bytes, big-endian. */
export function pad(value: bigint): Buffer {
  return Buffer.from(value.toString(16).padStart(elementBytes * 2, '0'), 'hex');
}

export function toBigInt(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
}

/** Returns whether 1 < value < N − 1: the value is reduced and of neither order one nor two. */
export function isGroupElement(value: bigint): boolean {
  return value > 1n && value < prime - 1n;
}
