import type { Bytes } from '../../bytes/bytes.ts';
import type { ByteSource } from '../../files/byte-source.ts';
import { DemoError } from '../terminal/demo-error.ts';

/** Reads all pieces. Throws DemoError unless they contain exactly the bytes of `source`. */
export async function requireSame(pieces: AsyncIterable<Bytes>, source: ByteSource): Promise<void> {
  let offset = 0;
  let isSame = true;
  for await (const piece of pieces) {
    const expected = await source.read(offset, piece.length);
    isSame &&= Buffer.compare(piece, expected) === 0;
    offset += piece.length;
  }
  if (!isSame || offset !== source.size) {
    throw new DemoError('the decrypted file is not the one that was stored');
  }
}
