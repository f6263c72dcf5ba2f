import { setTimeout as delay } from 'node:timers/promises';

interface UntilOptions {
  /** Name of the awaited condition, which completes the error text "gave up waiting for …". */
  readonly what: string;
  readonly timeoutMs: number;
  /** Milliseconds between two polls; the default is 25. */
  readonly intervalMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Polls until `condition` returns a value other than undefined and false, and resolves with that
 * value. Throws after `timeoutMs`, when `signal` aborts, and whatever `condition` throws.
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
