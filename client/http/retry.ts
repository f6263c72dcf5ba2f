import { ClientError } from '../errors/client-error.ts';
import { VaultError } from '../errors/vault-error.ts';

export interface RetryPolicy {
  /** Tries in all, the first one included. */
  readonly attempts: number;
  readonly baseDelaySeconds: number;
  /** A server that asks for more patience than this gets none: the error is thrown. */
  readonly maxDelaySeconds: number;
  /** Rejects with the signal's reason as soon as it is aborted. */
  readonly sleep: (seconds: number, signal: AbortSignal | undefined) => Promise<void>;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** Nine tries in one to two minutes: what a dead server was about is free again within one. */
export const defaultRetry: RetryPolicy = {
  attempts: 9,
  baseDelaySeconds: 0.5,
  maxDelaySeconds: 60,
  sleep,
  random: Math.random,
};

const passingStatuses = new Set([429, 502, 503, 504]);
const passingCodes = new Set([
  'part_in_progress',
  'completion_in_progress',
  'idempotency_in_progress',
  'proof_not_ready',
  // The body was damaged on its way.
  'digest_mismatch',
  'incomplete_body',
]);

/** Runs an operation that may be repeated until it succeeds or its error is not a passing one. */
export async function withRetries<T>(
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  operation: () => Promise<T>,
): Promise<T> {
  for (let failures = 1; ; failures += 1) {
    try {
      return await operation();
    } catch (error) {
      const delaySeconds = retryDelaySeconds(policy, failures, error);
      if (delaySeconds === undefined || signal?.aborted) throw error;
      await policy.sleep(delaySeconds, signal);
    }
  }
}

/** Undefined if the error stands. Exponential with jitter, but never before Retry-After. */
export function retryDelaySeconds(
  { attempts, baseDelaySeconds, maxDelaySeconds, random }: RetryPolicy,
  failures: number,
  error: unknown,
): number | undefined {
  if (failures >= attempts || !isPassing(error)) return undefined;
  const exponential = Math.min(maxDelaySeconds, baseDelaySeconds * 2 ** (failures - 1));
  const jittered = exponential * (0.5 + random() / 2);
  const asked = error instanceof VaultError ? (error.retryAfterSeconds ?? 0) : 0;
  return asked > maxDelaySeconds ? undefined : Math.max(jittered, asked);
}

/** Whether the same request may succeed a little later. */
export function isPassing(error: unknown): boolean {
  if (error instanceof VaultError) {
    return passingStatuses.has(error.status) || passingCodes.has(error.code);
  }
  return error instanceof ClientError && error.code === 'network_error';
}

function sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    }, seconds * 1000);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
