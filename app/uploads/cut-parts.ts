import { createHash } from 'node:crypto';

/** `sha256` is base64. */
export interface CutPart {
  readonly bytes: Buffer;
  readonly sha256: string;
}

/**
 * Cuts a stream into parts of `partBytes`, the last of which may be smaller. Two buffers take turns:
 * a part is there until the second one after it is asked for.
 */
export async function* cutParts(
  chunks: AsyncIterable<Buffer>,
  partBytes: number,
): AsyncGenerator<CutPart, undefined> {
  let [buffer, other] = [Buffer.allocUnsafeSlow(partBytes), Buffer.allocUnsafeSlow(partBytes)];
  let hash = createHash('sha256');
  let filled = 0;
  for await (const chunk of chunks) {
    for (let taken = 0; taken < chunk.length;) {
      const piece = chunk.subarray(taken, taken + partBytes - filled);
      buffer.set(piece, filled);
      hash.update(piece);
      taken += piece.length;
      filled += piece.length;
      if (filled === partBytes) {
        yield { bytes: buffer, sha256: hash.digest('base64') };
        [buffer, other] = [other, buffer];
        hash = createHash('sha256');
        filled = 0;
      }
    }
  }
  if (filled > 0) yield { bytes: buffer.subarray(0, filled), sha256: hash.digest('base64') };
}
