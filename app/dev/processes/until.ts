import { setTimeout as delay } from 'node:timers/promises';

interface UntilOptions {
  /** Completes the error text "gave up waiting for …". */
  readonly what: string;
  readonly timeoutMs: number;
  /** Default 25 ms. */
  readonly intervalMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Polls until `condition` resolves with something other than undefined or false, and returns that.
 * Throws after `timeoutMs`, on abort, and whatever `condition` throws.
 */
export async function until<T>(
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  { what, timeoutMs, intervalMs = 25, signal }: UntilOptions,
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    const result = await condition();
    if (result !== undefined && result !== false) return result;
    if (performance.now() > deadline) throw new Error(`gave up waiting for ${what}`);
    await delay(intervalMs, undefined, signal === undefined ? {} : { signal });
  }
}
