import type { ByteRange } from './object-store.ts';
import { StorageError } from './storage-error.ts';

/** Clips a range to `size` bytes. Throws invalid_range if no byte is left. */
export function clipRange(
  size: number,
  { first, last = Infinity }: ByteRange = { first: 0 },
): Required<ByteRange> {
  const clipped = { first, last: Math.min(last, size - 1) };
  if (first < 0 || clipped.last < first) throw new StorageError('invalid_range');
  return clipped;
}
