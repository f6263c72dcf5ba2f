import type { Bytes } from '../bytes/bytes.ts';

/** A file to encrypt. */
export interface ByteSource {
  /** Bytes, fixed for the life of the source. */
  readonly size: number;
  /** Resolves to `length` bytes, or fewer if the file has shrunk. */
  read(offset: number, length: number): Promise<Bytes>;
}

/** For the `File`s of a browser. */
export function blobSource(blob: Blob): ByteSource {
  return {
    size: blob.size,
    async read(offset, length) {
      return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
    },
  };
}
