import { open } from 'node:fs/promises';
import type { ByteSource } from '../files/byte-source.ts';

/** Opens a file to be read piece by piece. Dispose of the result to close the file. */
export async function openFileSource(path: string): Promise<ByteSource & AsyncDisposable> {
  const file = await open(path, 'r');
  const { size } = await file.stat();
  return {
    size,
    async read(offset, length) {
      const bytes = new Uint8Array(length);
      let filled = 0;
      while (filled < length) {
        const { bytesRead } = await file.read(bytes, filled, length - filled, offset + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return bytes.subarray(0, filled);
    },
    [Symbol.asyncDispose]: () => file.close(),
  };
}
