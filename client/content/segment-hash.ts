import type { Bytes } from '../bytes/bytes.ts';
import { keyBytes } from '../crypto/key.ts';
import { contentSegmentBytes } from './layout.ts';

const saltOffset = 1;
const segmentOffset = saltOffset + keyBytes;

/** A place in memory where one segment after the other is gathered and hashed. */
export interface SegmentBuffer {
  /** Copies as many bytes as the segment has room for, and returns the others. */
  fill(bytes: Bytes): Bytes;
  readonly isFull: () => boolean;
  readonly isEmpty: () => boolean;
  /**
   * Hashes the segment as a leaf, SHA-256(0x00 ‖ salt ‖ segment) (RFC 6962 §2.1), and empties the
   * buffer, which can be filled again at once: WebCrypto takes a copy when it is called.
   */
  hash(salt: Bytes): Promise<Bytes>;
}

export function createSegmentBuffer(capacity: number = contentSegmentBytes): SegmentBuffer {
  const leaf = new Uint8Array(segmentOffset + capacity);
  let filled = 0;
  return {
    fill(bytes) {
      const taken = bytes.subarray(0, capacity - filled);
      leaf.set(taken, segmentOffset + filled);
      filled += taken.length;
      return bytes.subarray(taken.length);
    },
    isFull: () => filled === capacity,
    isEmpty: () => filled === 0,
    async hash(salt) {
      leaf.set(salt, saltOffset);
      const bytes = leaf.subarray(0, segmentOffset + filled);
      filled = 0;
      return new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    },
  };
}

/** Hashes one segment as a leaf of the tree. */
export function hashSegment(salt: Bytes, segment: Bytes): Promise<Bytes> {
  const buffer = createSegmentBuffer(segment.length);
  buffer.fill(segment);
  return buffer.hash(salt);
}
