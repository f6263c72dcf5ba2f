/** The result of checking one dependency. */
export interface CheckResult {
  readonly status: 'ok' | 'error';
  readonly latencyMs: number;
  /** The error code of a failed check, never an error message. */
  readonly error?: string;
}

/**
 * Thrown by a probe to state the code of a failed check. Any other error of a probe is reported as
 * `unavailable`.
 */
export class CheckError extends Error {
  override name = 'CheckError';
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

const timeoutMs = 2_000;

/**
 * Runs a probe, and resolves with the result of the check. Never rejects. A probe that takes more
 * than two seconds fails with the code `timeout`.
 */
export async function check(probe: () => Promise<unknown>): Promise<CheckResult> {
  const startedAt = performance.now();
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new CheckError('timeout')), timeoutMs);
  try {
    await Promise.race([probe(), limit.promise]);
    return { status: 'ok', latencyMs: elapsedMs(startedAt) };
  } catch (error) {
    const code = error instanceof CheckError ? error.code : 'unavailable';
    return { status: 'error', latencyMs: elapsedMs(startedAt), error: code };
  } finally {
    clearTimeout(timer);
  }
}

function elapsedMs(startedAt: number): number {
  return Math.round(performance.now() - startedAt);
}

/**
 * Returns a function whose concurrent callers share one call of `ask`. The result or rejection is
 * also shared for `ms` milliseconds after the call has settled.
 */
export function sharedFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let shared: Promise<T> | undefined;
  return () => {
    if (shared === undefined) {
      shared = ask();
      const forget = () => setTimeout(() => (shared = undefined), ms).unref();
      shared.then(forget, forget);
    }
    return shared;
  };
}
