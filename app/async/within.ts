import { sleep } from './wake-signal.ts';

/** Resolves once `work` does, but after `ms` at the latest; rejects if `work` rejects by then. */
export async function within(ms: number, work: Promise<void>): Promise<void> {
  const over = new AbortController();
  try {
    await Promise.race([work, sleep(ms, over.signal)]);
  } finally {
    over.abort();
  }
}
