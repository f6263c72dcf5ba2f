import type { Database } from '../../db/database.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import { countUnsealed } from '../../audit-trail/count-unsealed.ts';

const checkMs = 1_000;

interface BacklogOptions {
  readonly db: Database;
  /** Number of unsigned entries above which the backlog is full. */
  readonly limit: number;
  readonly log: Log;
}

/** Starts to count the unsigned entries of all replicas once a second, until stopped. */
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
    /** Returns whether the last count was above `limit`. */
    isFull: (): boolean => isFull,
    stop: (): Promise<void> => counting.stop(),
  };
}
