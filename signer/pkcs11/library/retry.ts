import { setTimeout as delay } from 'node:timers/promises';

interface RetryOptions {
  readonly attempts: number;
  /** Pause before the second attempt; each later pause is longer by this much. */
  readonly pauseMs: number;
  readonly mayPass: (error: unknown) => boolean;
}

/** Runs `run` until it succeeds. Throws the last error, or the first that `mayPass` rejects. */
export async function retry<T>(
  run: () => Promise<T> | T,
  { attempts, pauseMs, mayPass }: RetryOptions,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run();
    } catch (error) {
      if (attempt === attempts || !mayPass(error)) throw error;
      await delay(pauseMs * attempt);
    }
  }
}
