/** Bytes of every segment of a plaintext but the last. */
export const contentSegmentBytes = 1_048_576;

/** Returns how many segments a plaintext has; an empty one has one empty segment. */
export function countContentSegments(size: number): number {
  return Math.max(1, Math.ceil(size / contentSegmentBytes));
}

/** Returns the range of a segment in a plaintext of `size` bytes. */
export function contentSegmentRange(
  index: number,
  size: number,
): { readonly offset: number; readonly length: number } {
  const offset = index * contentSegmentBytes;
  return { offset, length: Math.max(0, Math.min(contentSegmentBytes, size - offset)) };
}
