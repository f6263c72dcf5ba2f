import { startDeadline } from '../../async/deadline.ts';
import type { TransactionLimits } from './limits.ts';

export type IdleLimit = ReturnType<typeof startIdleLimit>;

/** Extra time in which the pool learns that Postgres closed a connection, and discards it. */
const marginMs = 1_000;

/**
 * Limits how long a transaction may be idle. Work that waits for something other than Postgres
 * would not notice that Postgres has closed its connection.
 */
export function startIdleLimit({ idleMs, statementMs }: TransactionLimits) {
  const { promise: exceeded, reject } = Promise.withResolvers<never>();
  // The transaction may be over before anything awaits this promise.
  exceeded.catch(() => undefined);
  const giveUp = () => reject(new Error('a transaction was left idle'));
  let stop = startDeadline(idleMs + marginMs, giveUp);

  function restart(ms: number): void {
    stop();
    stop = startDeadline(ms + marginMs, giveUp);
  }

  return {
    /**
     * Rejects once the transaction has been idle for too long. Never settles if it is stopped
     * before.
     */
    exceeded,
    statementBegins: () => restart(statementMs + idleMs),
    /** Restarts the limit. Need not be called for a statement that failed. */
    statementEnds: () => restart(idleMs),
    stop: () => stop(),
  };
}
