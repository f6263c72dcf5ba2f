import type { Database } from '../../db/database.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import { countUnsealed } from '../../audit-trail/count-unsealed.ts';

const checkMs = 1_000;

interface BacklogOptions {
  readonly db: Database;
  /** The backlog is full with more unsigned entries than this. */
  readonly limit: number;
  readonly log: Log;
}

/**
 * Starts to count the entries that wait for their signature, until stopped. Counts those of all
 * replicas, whether the signer is away or slow.
 */
export function watchBacklog({ db, limit, log }: BacklogOptions) {
  let isFull = false;

  async function count(): Promise<void> {
    isFull = (await db.asService((tx) => countUnsealed(tx, limit + 1))) > limit;
  }

  const counting = repeat(checkMs, count, (error) =>
    log.warn({ err: error }, 'the audit backlog could not be counted; retrying'),
  );
  counting.now();
  return {
    /** Tells whether too many entries wait, as last counted. */
    isFull: (): boolean => isFull,
    stop: (): Promise<void> => counting.stop(),
  };
}
