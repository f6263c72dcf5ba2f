/** Ends what makes us wait too long; the time between two waits does not count. */
export interface Patience {
  /** Aborted once a wait was too long. */
  readonly signal: AbortSignal;
  limit<T>(waiting: Promise<T>): Promise<T>;
}

export function createPatience(seconds: number): Patience {
  const controller = new AbortController();
  const end = () => controller.abort(new DOMException('waited too long', 'TimeoutError'));
  return {
    signal: controller.signal,
    async limit(waiting) {
      const timer = setTimeout(end, seconds * 1000);
      try {
        return await waiting;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}
