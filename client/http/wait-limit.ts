export type Patience = ReturnType<typeof createPatience>;

/**
 * Creates a timeout for single waits, such as for each piece of a stream. The time between two
 * waits does not count.
 */
export function createPatience(seconds: number) {
  const controller = new AbortController();
  const end = () => controller.abort(new DOMException('The wait timed out.', 'TimeoutError'));
  return {
    /** Aborts as soon as a wait takes longer than `seconds`. */
    signal: controller.signal,
    /**
     * Waits for a promise, and aborts `signal` if that takes longer than `seconds`. Settles only
     * when the promise does.
     */
    async limit<T>(waiting: Promise<T>): Promise<T> {
      const timer = setTimeout(end, seconds * 1000);
      try {
        return await waiting;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
