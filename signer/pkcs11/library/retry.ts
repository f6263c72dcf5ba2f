import { setTimeout as delay } from 'node:timers/promises';

type RetryOptions = {
  attempts: number;
  /** Before the second attempt; each later pause is as much longer. */
  pauseMs: number;
  mayPass: (error: unknown) => boolean;
};

/** Throws the last error, or the first that will not pass. */
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
