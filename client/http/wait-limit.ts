export type Patience = ReturnType<typeof createPatience>;

/** Limits single waits to a number of seconds; the time between two waits does not count. */
export function createPatience(seconds: number) {
  const controller = new AbortController();
  const end = () => controller.abort(new DOMException('The wait timed out.', 'TimeoutError'));
  return {
    /** Aborts as soon as a wait takes too long. */
    signal: controller.signal,
    /** Waits for a promise while the time limit runs. */
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
