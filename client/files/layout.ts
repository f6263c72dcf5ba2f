import { tagBytes } from '../crypto/aes-gcm.ts';
import { headerBytes } from './header.ts';

const maxSegments = 2 ** 32;

/**
 * Returns how many segments an encrypted file has. Segments end at multiples of the segment size,
 * and the first segment also holds the header; an empty file has one segment. Throws RangeError if
 * the 32-bit counter overflows.
 */
export function countSegments(plaintextSize: number, segmentSize: number): number {
  const segments = Math.ceil((headerBytes + plaintextSize) / (segmentSize - tagBytes));
  if (segments > maxSegments) throw new RangeError('The file has too many segments.');
  return segments;
}

/** Returns the size of a file after encryption, in bytes. */
export function encryptedSize(plaintextSize: number, segmentSize: number): number {
  return headerBytes + plaintextSize + tagBytes * countSegments(plaintextSize, segmentSize);
}

/** Returns the index of the segment that holds this byte of the plaintext. */
export function segmentOf(offset: number, segmentSize: number): number {
  return Math.floor((headerBytes + offset) / (segmentSize - tagBytes));
}

/** Returns the offset in the plaintext at which the chunk of a segment begins. */
export function chunkOffset(index: number, segmentSize: number): number {
  return Math.max(0, index * (segmentSize - tagBytes) - headerBytes);
}

/** Returns the range of the plaintext that is encrypted in a segment. */
export function chunkRange(
  index: number,
  plaintextSize: number,
  segmentSize: number,
): { readonly offset: number; readonly length: number } {
  const offset = chunkOffset(index, segmentSize);
  const end = Math.min(plaintextSize, chunkOffset(index + 1, segmentSize));
  return { offset, length: end - offset };
}
