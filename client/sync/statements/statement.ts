import { sha256 } from '@noble/hashes/sha2.js';
import { utf8ToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import { encodeBase64 } from '../../bytes/base64.ts';

const hashBytes = 16;

/** The count and the hash of a statement. */
export const StatementId = z.tuple([z.int().positive(), z.string()]).readonly();
export type StatementId = z.output<typeof StatementId>;

/**
 * A leaf that a device wrote: the count of the write, the hash of the ciphertext (null if the leaf
 * was removed). The claim is contested if the write was based on an earlier version than the device
 * knew, so that the vault's rules may have decided against it: then the hash of the leaf that the
 * device knew there (null for none) follows.
 */
const Claim = z.tuple([
  z.int().positive(),
  z.string().nullable(),
  z.string().nullable().optional(),
]);
export type Claim = z.output<typeof Claim>;

/** A device states in it which leaves of an object it wrote, and what it knew when it wrote. */
export const Statement = z.object({
  /** Number of the device's last write of the object; each is above the one before. */
  count: z.int().positive(),
  /** Version of the object that the device knew when it wrote; 0 if it created the object. */
  base: z.int().nonnegative(),
  /** The statement of each other device in that version. */
  saw: z.record(z.string(), StatementId),
  /** The device's claims by JSON Pointer. */
  wrote: z.record(z.string(), Claim),
});
export type Statement = z.output<typeof Statement>;

/** A statement that was decrypted. */
export interface OpenedStatement extends Statement {
  /** The hash of its ciphertext. */
  readonly hash: string;
  /** Whether the present master key opens it, and not an earlier one. */
  readonly isPresent: boolean;
}

/** The statements of an object by the ids of their devices. */
export type Statements = ReadonlyMap<string, OpenedStatement>;

/** Returns the hash of an encrypted leaf: the first 16 bytes of its SHA-256, in base64. */
export function hashLeaf(sealed: string): string {
  return encodeBase64(sha256(utf8ToBytes(sealed)).slice(0, hashBytes));
}
