import { concatBytes } from '@noble/hashes/utils.js';
import type { Bytes } from '../../../client/bytes/bytes.ts';

/** Concatenates all bytes that a generator yields. */
export async function collect(pieces: AsyncIterable<Bytes>): Promise<Bytes> {
  const collected: Bytes[] = [];
  for await (const piece of pieces) collected.push(piece);
  return concatBytes(...collected);
}

/** Collects all items that a generator yields. */
export async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const gathered: T[] = [];
  for await (const item of items) gathered.push(item);
  return gathered;
}
