import type { Bytes } from '../bytes/bytes.ts';

/**
 * Joins segments into parts of `partSize` bytes; the last part may be shorter. `partSize` must be a
 * multiple of the segment size, and `totalSize` the sum of all segments, in bytes. Holds one part
 * in memory.
 */
export async function* joinParts(
  segments: AsyncIterable<Bytes>,
  { partSize, totalSize }: { readonly partSize: number; readonly totalSize: number },
): AsyncGenerator<Bytes, void, void> {
  let remaining = totalSize;
  let part = new Uint8Array(Math.min(partSize, remaining));
  let filled = 0;
  for await (const segment of segments) {
    part.set(segment, filled);
    filled += segment.length;
    if (filled < part.length) continue;
    yield part;
    remaining -= filled;
    part = new Uint8Array(Math.min(partSize, remaining));
    filled = 0;
  }
}
