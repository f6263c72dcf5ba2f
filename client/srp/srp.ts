import { sha3_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../bytes/bytes.ts';
import { ClientError } from '../errors/client-error.ts';
import { rfc5054Group3072, type SrpGroup } from './group.ts';

export interface SrpParameters {
  readonly group: SrpGroup;
  readonly hash: (message: Bytes) => Bytes;
}

/** The vault's parameters, pinned here so that no response of a server can weaken them. */
export const serviceSrp: SrpParameters = { group: rfc5054Group3072, hash: sha3_256 };

/** Returns PAD(value) of RFC 5054 §2.1: big-endian, left-padded with zeros to the length of N. */
export function pad({ byteLength }: SrpGroup, value: bigint): Bytes {
  return hexToBytes(value.toString(16).padStart(byteLength * 2, '0'));
}

/** x = H(salt ‖ K_auth). */
export function computeX({ hash }: SrpParameters, salt: Bytes, authKey: Bytes): bigint {
  return toInteger(hash(concatBytes(salt, authKey)));
}

/** v = g^x mod N (RFC 5054 §2.4). */
export function computeVerifier({ group }: SrpParameters, x: bigint): bigint {
  return modPow(group.g, x, group.N);
}

/** A = g^a mod N (RFC 5054 §2.5.4). */
export function computePublicValue({ group }: SrpParameters, a: bigint): bigint {
  return modPow(group.g, a, group.N);
}

/** k = H(N ‖ PAD(g)) (RFC 5054 §2.5.3). */
export function computeMultiplier({ group, hash }: SrpParameters): bigint {
  return toInteger(hash(concatBytes(pad(group, group.N), pad(group, group.g))));
}

/** u = H(PAD(A) ‖ PAD(B)) (RFC 5054 §2.6). Throws invalid_public_value if it is 0. */
export function computeScrambler({ group, hash }: SrpParameters, A: bigint, B: bigint): bigint {
  const u = toInteger(hash(concatBytes(pad(group, A), pad(group, B))));
  if (u === 0n) throw new ClientError('invalid_public_value');
  return u;
}

/**
 * S = (B − k·g^x)^(a + u·x) mod N (RFC 5054 §2.6).
 * Throws invalid_public_value for a B outside 1 … N−1, and for u = 0.
 */
export function computePremasterSecret(
  parameters: SrpParameters,
  {
    a,
    A,
    B,
    x,
  }: { readonly a: bigint; readonly A: bigint; readonly B: bigint; readonly x: bigint },
): bigint {
  const { N, g } = parameters.group;
  if (B <= 0n || B >= N) throw new ClientError('invalid_public_value');
  const u = computeScrambler(parameters, A, B);
  const base = (B - computeMultiplier(parameters) * modPow(g, x, N)) % N;
  return modPow(base < 0n ? base + N : base, a + u * x, N);
}

/** K = H(PAD(S)), M1 = H(PAD(A) ‖ PAD(B) ‖ K), M2 = H(PAD(A) ‖ M1 ‖ K). */
export function computeProofs(
  { group, hash }: SrpParameters,
  { A, B, S }: { readonly A: bigint; readonly B: bigint; readonly S: bigint },
): { readonly K: Bytes; readonly M1: Bytes; readonly M2: Bytes } {
  const K = hash(pad(group, S));
  const M1 = hash(concatBytes(pad(group, A), pad(group, B), K));
  const M2 = hash(concatBytes(pad(group, A), M1, K));
  return { K, M1, M2 };
}

export function toInteger(bytes: Uint8Array): bigint {
  return BigInt(`0x${bytesToHex(bytes)}`);
}

/**
 * Raises to a power by square and multiply, from the highest bit of the exponent, so that a small
 * base multiplies cheaply. The duration depends on the exponent, which is acceptable here: only a
 * client calls this function, on its own machine, with an `a` that is used for one login.
 */
function modPow(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n;
  for (const bit of exponent.toString(2)) {
    result = (result * result) % modulus;
    if (bit === '1') result = (result * base) % modulus;
  }
  return result;
}
