/** What one dependency answered. `error` is a code, never a message. */
export interface CheckResult {
  readonly status: 'ok' | 'error';
  readonly latencyMs: number;
  readonly error?: string;
}

/** Why a dependency is not well; anything else thrown counts as `unavailable`. */
export class CheckError extends Error {
  override name = 'CheckError';
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

const limitMs = 2_000;

/** Runs a probe within two seconds. */
export async function check(probe: () => Promise<unknown>): Promise<CheckResult> {
  const startedAt = performance.now();
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new CheckError('timeout')), limitMs);
  try {
    await Promise.race([probe(), limit.promise]);
    return { status: 'ok', latencyMs: elapsed(startedAt) };
  } catch (error) {
    const code = error instanceof CheckError ? error.code : 'unavailable';
    return { status: 'error', latencyMs: elapsed(startedAt), error: code };
  } finally {
    clearTimeout(timer);
  }
}

function elapsed(startedAt: number): number {
  return Math.round(performance.now() - startedAt);
}

/** Shares one answer among everyone who asks within `ms`. */
export function sharedFor<T>(ms: number, ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  return () => {
    if (answer === undefined) {
      answer = ask();
      const forget = () => setTimeout(() => (answer = undefined), ms).unref();
      answer.then(forget, forget);
    }
    return answer;
  };
}
