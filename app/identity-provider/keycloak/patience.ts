import {
  BrokenCircuitError,
  ConsecutiveBreaker,
  ExponentialBackoff,
  circuitBreaker,
  handleType,
  retry,
  wrap,
} from 'cockatiel';
import { AppError } from '../../errors/app-error.ts';
import type { Log } from '../../telemetry/log.ts';
import { ProviderFailure } from './provider-failure.ts';

const failuresUntilOpen = 5;
const openMs = 5_000;

export type Patience = ReturnType<typeof createPatience>;

/**
 * Creates what decides whether a call is tried, and tried again. A call that failed for a passing
 * reason is repeated once after a random pause. After five failures in a row, no call is tried for
 * 5 seconds, so that requests do not all wait for a provider that is unavailable; then a single one
 * is.
 */
export function createPatience(log: Log) {
  const breaker = circuitBreaker(handleType(ProviderFailure), {
    halfOpenAfter: openMs,
    breaker: new ConsecutiveBreaker(failuresUntilOpen),
  });
  const again = retry(
    handleType(ProviderFailure, ({ isPassing }) => isPassing),
    { maxAttempts: 1, backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 400 }) },
  );
  const repeated = wrap(again, breaker);
  breaker.onBreak(() => log.error('the identity provider fails; it is asked again in 5 s'));
  breaker.onReset(() => log.info('the identity provider is available again'));

  async function call<T>(
    policy: Pick<typeof breaker, 'execute'> | Pick<typeof repeated, 'execute'>,
    work: () => Promise<T>,
    deadline: AbortSignal,
  ): Promise<T> {
    try {
      return await policy.execute(() => work(), deadline);
    } catch (cause) {
      if (cause instanceof AppError) throw cause;
      if (cause instanceof ProviderFailure && !cause.isPassing) {
        log.error({ err: cause }, 'the identity provider refuses what the vault asks of it');
      }
      const isKnown = cause instanceof ProviderFailure || cause instanceof BrokenCircuitError;
      if (!isKnown && !deadline.aborted) throw cause;
      throw new AppError('identity_provider_unavailable', { cause });
    }
  }

  return {
    /** Calls the provider, and once again if that failed. `work` must be able to run twice. */
    repeat: <T>(work: () => Promise<T>, deadline: AbortSignal): Promise<T> =>
      call(repeated, work, deadline),
    /** Calls the provider once. */
    once: <T>(work: () => Promise<T>, deadline: AbortSignal): Promise<T> =>
      call(breaker, work, deadline),
  };
}
