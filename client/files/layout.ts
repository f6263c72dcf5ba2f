import { TAG_BYTES } from '../crypto/aes-gcm.ts';
import { HEADER_BYTES } from './header.ts';

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

/** The segment that holds this byte of the plaintext. */
export function segmentOf(offset: number, segmentSize: number): number {
  return Math.floor((HEADER_BYTES + offset) / (segmentSize - TAG_BYTES));
}

/** Where in the plaintext the chunk of a segment begins. */
export function chunkOffset(index: number, segmentSize: number): number {
  return Math.max(0, index * (segmentSize - TAG_BYTES) - HEADER_BYTES);
}

/** The piece of the plaintext that is sealed in the segment of this index. */
export function chunkRange(
  index: number,
  plaintextSize: number,
  segmentSize: number,
): { offset: number; length: number } {
  const offset = chunkOffset(index, segmentSize);
  const end = Math.min(plaintextSize, chunkOffset(index + 1, segmentSize));
  return { offset, length: end - offset };
}
