import { createHmac, hkdfSync } from 'node:crypto';
import type { CredentialMethod } from '../../db/tables/accounts.ts';
import { prime, toBigInt } from '../../srp/group.ts';

/** What stands in for an account that does not exist, so that a login shows no difference. */
interface Decoy {
  /** A UUIDv8 that no account has. */
  readonly userId: string;
  /** 32 bytes, hex: what clients register with. */
  readonly salt: string;
  /** A group element, hex, whose exponent nobody knows. */
  readonly verifier: string;
}

/**
 * Stable for an address and method as long as the key in the HSM is. The id is that of the address
 * alone, since attempts by any method are counted together.
 */
export function decoyFor(key: Buffer, email: string, method: CredentialMethod): Decoy {
  const digest = createHmac('sha256', key)
    .update(JSON.stringify(['password', email]))
    .digest();
  return decoyById(key, toUuid(digest), method);
}

/** The same decoy again, of whom only the id was kept. */
export function decoyById(key: Buffer, userId: string, method: CredentialMethod): Decoy {
  const name = method === 'password' ? userId : `${method} ${userId}`;
  const salt = derive(key, `salt ${name}`, 32);
  // 16 bytes more than the prime, so that the remainder is as good as uniform.
  const verifier = toBigInt(derive(key, `verifier ${name}`, 400)) % prime;
  return { userId, salt: salt.toString('hex'), verifier: verifier.toString(16) };
}

function derive(key: Buffer, info: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', info, bytes));
}

/** RFC 9562 §5.8. */
function toUuid(digest: Buffer): string {
  const bytes = Buffer.from(digest.subarray(0, 16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
