import { HEADER_BYTES } from './file-header.ts';

export const TAG_BYTES = 16;
const MAX_SEGMENTS = 2 ** 32;

/**
 * Segments end at the multiples of the segment size; the first also holds the header. An empty file
 * has one segment. Throws RangeError if the 32-bit counter would not do.
 */
export function countSegments(plaintextSize: number, segmentSize: number): number {
  const segments = Math.ceil((HEADER_BYTES + plaintextSize) / (segmentSize - TAG_BYTES));
  if (segments > MAX_SEGMENTS) throw new RangeError('too many segments');
  return segments;
}

/** Bytes of the file once encrypted. */
export function encryptedSize(plaintextSize: number, segmentSize: number): number {
  return HEADER_BYTES + plaintextSize + TAG_BYTES * countSegments(plaintextSize, segmentSize);
}

/** The piece of the plaintext that is sealed in the segment of this index. */
export function chunkRange(
  index: number,
  plaintextSize: number,
  segmentSize: number,
): { offset: number; length: number } {
  const capacity = segmentSize - TAG_BYTES;
  const offset = Math.max(0, index * capacity - HEADER_BYTES);
  const end = Math.min(plaintextSize, (index + 1) * capacity - HEADER_BYTES);
  return { offset, length: end - offset };
}
