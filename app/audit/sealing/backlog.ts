import type { Database } from '../../db/database.ts';
import { repeat } from '../../async/repeat.ts';
import type { Log } from '../../telemetry/log.ts';
import { countUnsealed } from '../../trail/unsealed.ts';

/** How many entries wait for their signature. */
interface Backlog {
  readonly isFull: () => boolean;
  stop(): Promise<void>;
}

const checkMs = 1_000;

interface BacklogOptions {
  readonly db: Database;
  readonly limit: number;
  readonly log: Log;
}

/**
 * Starts counting, until stopped. A signer that is slow fills the backlog as one that is away does,
 * and so do other replicas.
 */
export function watchBacklog({ db, limit, log }: BacklogOptions): Backlog {
  let isFull = false;

  async function count(): Promise<void> {
    isFull = (await db.asService((tx) => countUnsealed(tx, limit + 1))) > limit;
  }

  const counting = repeat(checkMs, count, (error) =>
    log.warn({ err: error }, 'the backlog could not be counted'),
  );
  counting.now();
  return { isFull: () => isFull, stop: () => counting.stop() };
}
