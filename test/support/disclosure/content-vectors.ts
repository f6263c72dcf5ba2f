import { hexToBytes } from '@noble/hashes/utils.js';
import { z } from 'zod';
import type { Bytes } from '../../../client/bytes/bytes.ts';
import { readVectors } from '../client/vectors.ts';

/** Returns the plaintext of the vector of this size. */
export function plaintextOf(size: number): Bytes {
  return Uint8Array.from({ length: size }, (_, index) => index % 251);
}

/** The test vectors of docs/formats.md for content commitments and openings. */
export const contentVectors = await readVectors(
  'content.json',
  z.array(
    z.object({
      name: z.string(),
      size: z.int(),
      seed: z.string(),
      salts: z.array(z.string()),
      leaves: z.array(z.string().transform(hexToBytes)),
      root: z.string(),
      sha256: z.string(),
      commitmentSalt: z.string(),
      whole: z.string(),
      contentCommitment: z.string(),
      fullOpening: z.unknown(),
      segmentsOpening: z.looseObject({ segments: z.array(z.looseObject({ index: z.int() })) }),
    }),
  ),
);
