/**
 * Yields the pieces of a stream, since streams are not iterable in every browser. Cancels the
 * stream if the caller stops before its end.
 * @param limit wraps the promise of each piece, for example to add a timeout.
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
