import { tagBytes } from '../crypto/aes-gcm.ts';
import { headerBytes } from './header.ts';

const maxSegments = 2 ** 32;

/**
 * Segments end at the multiples of the segment size; the first also holds the header. An empty file
 * has one segment. Throws RangeError if the 32-bit counter would not do.
 */
export function countSegments(plaintextSize: number, segmentSize: number): number {
  const segments = Math.ceil((headerBytes + plaintextSize) / (segmentSize - tagBytes));
  if (segments > maxSegments) throw new RangeError('too many segments');
  return segments;
}

/** Bytes of the file once encrypted. */
export function encryptedSize(plaintextSize: number, segmentSize: number): number {
  return headerBytes + plaintextSize + tagBytes * countSegments(plaintextSize, segmentSize);
}

/** The segment that holds this byte of the plaintext. */
export function segmentOf(offset: number, segmentSize: number): number {
  return Math.floor((headerBytes + offset) / (segmentSize - tagBytes));
}

/** Where in the plaintext the chunk of a segment begins. */
export function chunkOffset(index: number, segmentSize: number): number {
  return Math.max(0, index * (segmentSize - tagBytes) - headerBytes);
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
