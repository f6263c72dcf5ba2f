import { createCipheriv, createHash } from 'node:crypto';
import { Readable } from 'node:stream';

export const partBytes = 5 * 1024 * 1024;

/** Returns `size` deterministic bytes that differ for each seed. */
export function testBytes(size: number, seed: number): Buffer {
  const key = createHash('sha256').update(String(seed)).digest().subarray(0, 16);
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

/** Returns a stream of `bytes` in chunks of odd length, as a socket delivers them. */
export function bodyOf(bytes: Buffer): Readable {
  const pieces = [];
  for (let offset = 0, length = 1; offset < bytes.length; offset += length, length = 65_521) {
    pieces.push(bytes.subarray(offset, offset + length));
  }
  return Readable.from(pieces);
}

export async function readAll(stream: Readable): Promise<Buffer> {
  return Buffer.concat(await stream.toArray());
}
