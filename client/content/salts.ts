import type { Bytes } from '../bytes/bytes.ts';
import { deriveKey } from '../crypto/hkdf.ts';

const segmentLabel = 'Service_Content_Segment_Salt_v1';
const commitmentLabel = 'Service_Content_Commitment_Salt_v1';
const wholeLabel = 'Service_Content_Whole_Salt_v1';

/** Derives the salt of a segment, 32 bytes. The index counts from 0. */
export function deriveSegmentSalt(seed: Bytes, index: number): Promise<Bytes> {
  return deriveKey(seed, `${segmentLabel}:${index}`);
}

/** Derives the salt of the content commitment, 32 bytes. */
export function deriveCommitmentSalt(seed: Bytes): Promise<Bytes> {
  return deriveKey(seed, commitmentLabel);
}

/** Derives the salt of the hash of the whole plaintext, 32 bytes. */
export function deriveWholeSalt(seed: Bytes): Promise<Bytes> {
  return deriveKey(seed, wholeLabel);
}
