import { createHmac, hkdfSync } from 'node:crypto';
import type { CredentialMethod } from '../../db/tables/accounts.ts';
import { prime, toBigInt } from '../../srp/group.ts';

/**
 * A stand-in for an account that does not exist. A client cannot distinguish a login with a decoy
 * from a login with an account.
 */
interface Decoy {
  /** A UUIDv8 that no account has. */
  readonly userId: string;
  /** The salt: 32 bytes in hex, like the salt of a real account. */
  readonly salt: string;
  /** The SRP verifier: a group element in hex whose exponent nobody knows. */
  readonly verifier: string;
}

/**
 * Derives the decoy for an e-mail address and login method. The decoy stays the same as long as the
 * HSM's key does. Its user id depends on the e-mail address alone, since attempts by all methods
 * are counted together.
 */
export function decoyFor(key: Buffer, email: string, method: CredentialMethod): Decoy {
  const digest = createHmac('sha256', key)
    .update(JSON.stringify(['password', email]))
    .digest();
  return decoyById(key, toUuid(digest), method);
}

/** Derives the decoy that `decoyFor` returned with the given user id. */
export function decoyById(key: Buffer, userId: string, method: CredentialMethod): Decoy {
  const name = method === 'password' ? userId : `${method} ${userId}`;
  const salt = derive(key, `salt ${name}`, 32);
  // Derives 16 bytes more than the prime has, so that the remainder is practically uniform.
  const verifier = toBigInt(derive(key, `verifier ${name}`, 400)) % prime;
  return { userId, salt: salt.toString('hex'), verifier: verifier.toString(16) };
}

function derive(key: Buffer, info: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', info, bytes));
}

/** Makes a UUIDv8 of the first 16 bytes of a digest (RFC 9562 §5.8). */
function toUuid(digest: Buffer): string {
  const bytes = Buffer.from(digest.subarray(0, 16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
