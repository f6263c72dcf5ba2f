import { ClientError } from '../errors/client-error.ts';
import { VaultError } from '../errors/vault-error.ts';

export interface RetryPolicy {
  /** Number of attempts in all, the first one included. */
  readonly attempts: number;
  /** Delay before the first retry; it doubles with each further retry. */
  readonly baseDelaySeconds: number;
  /** Upper limit of a delay. If the server's Retry-After is longer, the error is thrown at once. */
  readonly maxDelaySeconds: number;
  /** Waits for `seconds`. MUST reject with the signal's reason as soon as the signal is aborted. */
  readonly sleep: (seconds: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Returns a number from 0 to 1 for the jitter. */
  readonly random: () => number;
}

/**
 * Makes nine attempts over one to two minutes. Leases of a crashed server expire within one minute.
 */
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
  // The body was damaged or truncated in transit.
  'digest_mismatch',
  'incomplete_body',
]);

/**
 * Runs a repeatable operation until it succeeds. Throws an error that is not transient, the error
 * of the last attempt, and the signal's reason if it is aborted during a delay.
 */
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
      if (delaySeconds === undefined || signal?.aborted === true) throw error;
      await policy.sleep(delaySeconds, signal);
    }
  }
}

/**
 * Returns the delay before the next attempt, exponential with jitter and never shorter than
 * Retry-After; undefined if the operation must not be retried.
 */
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

/** Returns whether an error is transient, so that the same request may succeed a little later. */
export function isPassing(error: unknown): boolean {
  if (error instanceof VaultError) {
    return passingStatuses.has(error.status) || passingCodes.has(error.code);
  }
  return error instanceof ClientError && error.code === 'network_error';
}

function sleep(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
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
