import { sleep } from './wake-signal.ts';

/** Settles as `work` does, but resolves after `ms` if `work` is still pending then. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work, sleep(ms, over.signal)]);
  } finally {
    over.abort();
  }
}
