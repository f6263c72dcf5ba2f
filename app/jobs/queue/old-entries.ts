import type { JobType, Queue } from 'bullmq';
import { acknowledged } from './acknowledged.ts';

/** Names an entry of the queue. */
export interface Entry {
  /** Type of the job. */
  readonly type: string;
  /** Id of the job. */
  readonly id: string;
}

/** The states of entries that no worker has in hand. */
const idleStates: JobType[] = ['wait', 'delayed', 'prioritized', 'completed', 'failed'];
const pageSize = 500;

/** Yields pages of the entries that were added over `ageMs` ago and that no worker has in hand. */
export async function* oldEntries(
  queues: ReadonlyMap<string, Queue>,
  ageMs: number,
): AsyncGenerator<Entry[], void, void> {
  const before = Date.now() - ageMs;
  for (const [type, queue] of queues) {
    for (const state of idleStates) {
      for (let first = 0; ; first += pageSize) {
        const entries = await acknowledged(
          queue.getJobs([state], first, first + pageSize - 1, true),
        );
        const old = entries.filter(({ timestamp }) => timestamp < before);
        if (old.length > 0) yield old.map(({ id }) => ({ type, id: id ?? '' }));
        if (entries.length < pageSize) break;
      }
    }
  }
}
