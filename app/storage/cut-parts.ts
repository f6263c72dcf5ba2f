/**
 * Cuts a stream into parts of `partBytes` bytes; the last part may be smaller. Two buffers
 * alternate, so a yielded part is overwritten when the second part after it is requested.
 */
export async function* cutParts(
  chunks: AsyncIterable<Buffer>,
  partBytes: number,
): AsyncGenerator<Buffer, undefined> {
  let [buffer, other] = [Buffer.allocUnsafeSlow(partBytes), Buffer.allocUnsafeSlow(partBytes)];
  let filled = 0;
  for await (const chunk of chunks) {
    for (let taken = 0; taken < chunk.length;) {
      const piece = chunk.subarray(taken, taken + partBytes - filled);
      buffer.set(piece, filled);
      taken += piece.length;
      filled += piece.length;
      if (filled === partBytes) {
        yield buffer;
        [buffer, other] = [other, buffer];
        filled = 0;
      }
    }
  }
  if (filled > 0) yield buffer.subarray(0, filled);
}
