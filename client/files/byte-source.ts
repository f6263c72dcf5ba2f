import type { Bytes } from '../bytes/bytes.ts';

/** A file to encrypt. A caller may implement it for any storage with random access. */
export interface ByteSource {
  /** Size in bytes; MUST NOT change during the life of the source. */
  readonly size: number;
  /** Reads bytes. MUST resolve with `length` bytes, or fewer if the file has shrunk. */
  read(offset: number, length: number): Promise<Bytes>;
}

/** Creates a source from a Blob, such as a `File` of a browser. */
export function blobSource(blob: Blob): ByteSource {
  return {
    size: blob.size,
    async read(offset, length) {
      return new Uint8Array(await blob.slice(offset, offset + length).arrayBuffer());
    },
  };
}
