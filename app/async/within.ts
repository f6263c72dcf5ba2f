import { sleep } from './wake-signal.ts';

/** Resolves with `work`, or after `ms`. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work, sleep(ms, over.signal)]);
  } finally {
    over.abort();
  }
}
