import { z } from 'zod';

/** A hash, a salt or a seed: 32 bytes as 64 hex digits in lower case. */
export const Hex32 = z.string().regex(/^[0-9a-f]{64}$/);

/** The values by which the owner of a version opens the commitment to its plaintext. */
export const Content = z.object({
  /** Random; every salt of the content commitment is derived from it. */
  seed: Hex32,
  /** Head of the Merkle tree over the salted segments of the plaintext. */
  root: Hex32,
  /** SHA-256 of the plaintext. */
  sha256: Hex32,
});
export type Content = z.output<typeof Content>;

/** The content of a file and its size in bytes, as the metadata of a version has them. */
export interface SizedContent {
  readonly content: Content;
  readonly size: number;
}
