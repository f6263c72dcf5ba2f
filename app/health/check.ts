import { inTime } from '../async/in-time.ts';
import { classOf } from './failure-class.ts';

/** The result of checking one dependency. */
export interface CheckResult {
  readonly status: 'ok' | 'error';
  readonly latencyMs: number;
  /** The code of a CheckError, or else the class of the failure; never an error message. */
  readonly error?: string;
}

/** Thrown by a probe to state the code of a failed check, in place of the class of the failure. */
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
  try {
    await inTime(timeoutMs, probe());
    return { status: 'ok', latencyMs: elapsedMs(startedAt) };
  } catch (error) {
    const code = error instanceof CheckError ? error.code : classOf(error);
    return { status: 'error', latencyMs: elapsedMs(startedAt), error: code };
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
