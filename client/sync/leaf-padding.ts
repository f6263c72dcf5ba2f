import type { Bytes } from '../bytes/bytes.ts';

const SMALLEST_BYTES = 32;
const BLOCK_BYTES = 1024;

/** Spaces after JSON mean nothing, so they serve as padding. */
export function padLeaf(json: Bytes): Bytes {
  const padded = new Uint8Array(paddedBytes(json.length)).fill(0x20);
  padded.set(json);
  return padded;
}

/** The next power of two from 32 to 1024, then the next multiple of 1024. */
function paddedBytes(length: number): number {
  if (length > BLOCK_BYTES) return Math.ceil(length / BLOCK_BYTES) * BLOCK_BYTES;
  let bytes = SMALLEST_BYTES;
  while (bytes < length) bytes *= 2;
  return bytes;
}
