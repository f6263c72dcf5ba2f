import { SignerUnavailable } from '../../../signer/protocol/signer-error.ts';
import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { AppError } from '../../errors/app-error.ts';
import { errorCodes, type ErrorCode } from '../../errors/error-codes.ts';
import { limitNames, type LimitName } from '../../limits/rate-limits.ts';

const steps = ['challenge', 'login', 'reauthentication', 'refresh', 'one-time-code'] as const;
type AccessStep = (typeof steps)[number];

/** Creates the metrics of who tries to get in, and of the limits on that. */
export function createAccessMetrics(meter: Meter) {
  const attempts = meter.counter({
    name: 'probatio_auth_attempts_total',
    help: 'Attempts to prove who one is, or to renew tokens',
    labels: {
      step: { values: steps },
      result: {
        values: ['success', ...errorCodes] as const,
        description: '`success`, or the code of the error, such as `invalid_proof`',
      },
    },
  });
  const hits = meter.counter({
    name: 'probatio_rate_limit_hits_total',
    help: 'Uses that a rate limit refused',
    labels: { limit: { values: limitNames } },
  });
  return {
    limited: (limit: LimitName): void => hits.add({ limit }),
    /** Returns a function that does what `attempt` does, and counts its result. */
    countResults:
      <Args extends readonly unknown[], Result>(
        step: AccessStep,
        attempt: (...args: Args) => Promise<Result>,
      ) =>
      async (...args: Args): Promise<Result> => {
        try {
          const result = await attempt(...args);
          attempts.add({ step, result: 'success' });
          return result;
        } catch (error) {
          attempts.add({ step, result: codeOf(error) });
          throw error;
        }
      },
  };
}

/** Returns the code with which the error is answered. */
function codeOf(error: unknown): ErrorCode {
  if (error instanceof AppError) return error.code;
  return error instanceof SignerUnavailable ? 'signer_unavailable' : 'internal_error';
}
