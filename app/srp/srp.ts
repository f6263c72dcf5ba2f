import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { AppError } from '../errors/app-error.ts';
import { generator, isGroupElement, pad, prime, primeBytes, toBigInt } from './group.ts';
import type { Powers } from './powers.ts';

/**
 * The server's side of SRP-6a (RFC 5054) with SHA3-256 and the 3072-bit group. Numbers are bigint
 * group elements; hashes and proofs are Buffers of 32 bytes.
 */

/** The multiplier k = H(N ‖ PAD(g)). */
const multiplier = toBigInt(sha3(primeBytes, pad(generator)));

/** Length of b: RFC 5054 asks for 256 bits. */
const exponentBytes = 32;

/** State that the server keeps between challenge and login proof, beside the account's verifier. */
export interface ServerSession {
  readonly clientPublic: bigint;
  readonly serverPublic: bigint;
  /** The secret exponent b, 32 random bytes. */
  readonly privateKey: Buffer;
}

/** Parses the client's A. Throws invalid_public_value unless it is hex and 1 < A < N − 1. */
export function parseClientPublic(hex: string): bigint {
  if (!/^[0-9a-fA-F]{1,768}$/.test(hex)) throw new AppError('invalid_public_value');
  const value = BigInt(`0x${hex}`);
  if (!isGroupElement(value)) throw new AppError('invalid_public_value');
  return value;
}

/**
 * Creates the server's challenge B = k·v ± g^b mod N, with a fresh secret b and a random sign. All
 * powers of g = 2 are quadratic residues. With + alone, every B would therefore rule out half of
 * all wrong passwords for whoever asked for it: those for which B − k·v is none. A client computes
 * the same as with +, and its premaster secret differs from the server's in the sign at most.
 */
export async function createChallenge(
  powers: Pick<Powers, 'power'>,
  clientPublic: bigint,
  verifier: bigint,
): Promise<ServerSession> {
  const privateKey = randomBytes(exponentBytes);
  const publicValue = toBigInt(await powers.power(generator, privateKey));
  const blind = randomInt(2) === 0 ? publicValue : prime - publicValue;
  const serverPublic = (multiplier * verifier + blind) % prime;
  if (serverPublic === 0n) return createChallenge(powers, clientPublic, verifier);
  return { clientPublic, serverPublic, privateKey };
}

/**
 * Verifies the client's login proof M1 in constant time. Returns the server's proof
 * M2 = H(PAD(A) ‖ M1 ‖ K), or undefined if M1 does not match. Zeroes the session's private key.
 */
export async function answerProof(
  powers: Pick<Powers, 'power'>,
  session: ServerSession,
  verifier: bigint,
  clientProof: Buffer,
): Promise<Buffer | undefined> {
  const a = pad(session.clientPublic);
  const b = pad(session.serverPublic);
  const scrambler = sha3(a, b);
  if (toBigInt(scrambler) === 0n) return undefined;
  const scrambled = toBigInt(await powers.power(verifier, scrambler));
  const blinded = (session.clientPublic * scrambled) % prime;
  const premaster = isGroupElement(blinded)
    ? toBigInt(await powers.power(blinded, session.privateKey))
    : undefined;
  session.privateKey.fill(0);
  if (premaster === undefined) return undefined;
  // Both signs are computed in every case, so that the timing does not reveal the sign in B.
  const answers = [premaster, prime - premaster].map((secret) => {
    const bytes = pad(secret);
    const key = sha3(bytes);
    bytes.fill(0);
    const isRight = equal(clientProof, sha3(a, b, key));
    const answer = sha3(a, clientProof, key);
    key.fill(0);
    return isRight ? answer : undefined;
  });
  return answers.find((answer) => answer !== undefined);
}

function equal(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

function sha3(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('sha3-256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}
