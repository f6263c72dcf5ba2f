/**
 * What a stream gives, piece by piece, since not every browser iterates one by itself. Whoever leaves
 * before the end cancels it.
 * @param limit may end the wait for a piece.
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
