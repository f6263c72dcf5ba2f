import { NIL } from 'uuid';
import { repeat } from '../../async/repeat.ts';
import type { Database } from '../../db/database.ts';
import type { Log } from '../../telemetry/log.ts';
import type { JobQueue } from '../queue/queue.ts';
import { findDue } from '../rows/claims.ts';

interface ReconcilerOptions {
  readonly db: Database;
  readonly queue: Pick<JobQueue, 'takeTurn' | 'restore'>;
  readonly log: Log;
}

const everySeconds = 10;
const pageSize = 1_000;

/**
 * Starts a background worker that, every 10 s in one of the processes, adds the entries of jobs
 * that are due and have none: Redis lost them, or the process that ran the job died.
 */
export function startReconciler({ db, queue, log }: ReconcilerOptions) {
  async function reconcile(): Promise<void> {
    if (!(await queue.takeTurn(everySeconds - 1))) return;
    let restored = 0;
    let place: string = NIL;
    for (;;) {
      const after = place;
      const due = await db.asService((tx) => findDue(tx, after, pageSize));
      restored += await queue.restore(due);
      const last = due.at(-1);
      if (due.length < pageSize || last === undefined) break;
      place = last.id;
    }
    if (restored > 0) log.info({ restored }, 'jobs without an entry in the queue were queued');
  }

  const repeating = repeat(everySeconds * 1_000, reconcile, (error) =>
    log.warn({ err: error }, 'jobs could not be compared with the queue; retrying'),
  );
  return { stop: repeating.stop };
}
