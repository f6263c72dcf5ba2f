/**
 * Yields what a stream delivers, piece by piece, since not every browser makes streams iterable.
 * The stream is cancelled if the caller stops before its end.
 * @param limit wraps each wait for a piece, for example with a timeout.
 */
export async function* readStream<T>(
  stream: ReadableStream<T>,
  limit: <R>(waiting: Promise<R>) => Promise<R> = (waiting) => waiting,
): AsyncGenerator<T, void, void> {
  const reader = stream.getReader();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await limit(reader.read());
      if (done) {
        ended = true;
        return;
      }
      yield value;
    }
  } finally {
    if (!ended) await reader.cancel();
  }
}
