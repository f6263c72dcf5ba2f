import { startDeadline } from '../../async/deadline.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Silence } from './silence.ts';

/**
 * Milliseconds in which a transaction must begin while Postgres is silent. A request whose
 * transaction failed after 8 s, and which cleans up in another one, is thus answered within 10 s.
 */
const silentMs = 1_000;

/** Reports progress to `untilBegun`. Throws if the caller of the transaction waits no longer. */
export type Begun = () => void;

/**
 * Runs a transaction, which calls `begun` once it has begun. Settles as `run` does, but throws
 * database_unavailable if the transaction has not begun after `usualMs`, or after 1 s while
 * Postgres is silent.
 */
export async function untilBegun<T>(
  { usualMs, silence }: { readonly usualMs: number; readonly silence: Silence },
  run: (begun: Begun) => Promise<T>,
): Promise<T> {
  const ms = silence.isSilent ? silentMs : usualMs;
  const { promise: over, reject } = Promise.withResolvers<never>();
  let failure: AppError | undefined;
  const stop = startDeadline(ms, () => {
    const cause = new Error(`the transaction did not begin within ${ms} ms`);
    failure = new AppError('database_unavailable', { cause });
    silence.begin();
    reject(failure);
  });
  const begun = () => {
    stop();
    if (failure !== undefined) throw failure;
  };
  try {
    return await Promise.race([run(begun), over]);
  } finally {
    stop();
  }
}
