import { startDeadline } from './deadline.ts';

/** Thrown by `inTime`. Its code is that of a connection that timed out. */
class TimeLimitExceeded extends Error {
  override name = 'TimeLimitExceeded';
  readonly code = 'ETIMEDOUT';
}

/** Settles as `work` does. Throws an error with the code ETIMEDOUT if `work` takes over `ms`. */
export async function inTime<T>(ms: number, work: Promise<T>): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const stop = startDeadline(ms, () => limit.reject(new TimeLimitExceeded('no answer in time')));
  try {
    return await Promise.race([work, limit.promise]);
  } finally {
    stop();
  }
}
