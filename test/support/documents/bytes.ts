import { createCipheriv, createHash } from 'node:crypto';
import { Readable } from 'node:stream';

export const partBytes = 5 * 1024 * 1024;

/** `size` bytes that differ for each seed and at each place. */
export function testBytes(size: number, seed: number): Buffer {
  const key = createHash('sha256').update(String(seed)).digest().subarray(0, 16);
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(size));
}

/** `bytes` in pieces of odd length, as a socket gives them. */
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
