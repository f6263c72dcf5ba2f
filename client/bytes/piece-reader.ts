import type { Bytes } from './bytes.ts';

/** Reads a sequence of pieces of any size as bytes. */
export interface PieceReader {
  /** Resolves with the next `length` bytes, or with fewer if the pieces end before. */
  take(length: number): Promise<Bytes>;
  /** Ends the sequence, wherever it is. */
  close(): Promise<void>;
}

export function createPieceReader(pieces: AsyncGenerator<Bytes, void, void>): PieceReader {
  let rest: Bytes = new Uint8Array(0);
  return {
    async take(length) {
      const taken = new Uint8Array(length);
      let filled = 0;
      while (filled < length) {
        if (rest.length === 0) {
          const { done, value } = await pieces.next();
          if (done === true) return taken.subarray(0, filled);
          rest = value;
        }
        const bytes = rest.subarray(0, length - filled);
        taken.set(bytes, filled);
        filled += bytes.length;
        rest = rest.subarray(bytes.length);
      }
      return taken;
    },
    async close() {
      await pieces.return();
    },
  };
}
