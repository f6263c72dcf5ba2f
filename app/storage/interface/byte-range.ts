import type { ByteRange } from './object-store.ts';
import { StorageError } from './storage-error.ts';

/** The part of the range that lies within `size` bytes. Throws invalid_range when that is nothing. */
export function clipRange(
  size: number,
  { first, last = Infinity }: ByteRange = { first: 0 },
): Required<ByteRange> {
  const clipped = { first, last: Math.min(last, size - 1) };
  if (first < 0 || clipped.last < first) throw new StorageError('invalid_range');
  return clipped;
}
