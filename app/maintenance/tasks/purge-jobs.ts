import type { OldJobs } from '../../jobs/operation/old-jobs.ts';
import { purgeBatchSize } from '../../jobs/operation/purge.ts';
import { whileFull, type MaintenanceTask } from './task.ts';

const nothing = { removedJobs: 0, removedQueueEntries: 0 };

/** Creates the task that removes jobs that have long been over, and old entries of their queue. */
export function createPurgeJobs(oldJobs: OldJobs): MaintenanceTask<'purge-jobs', typeof nothing> {
  return {
    name: 'purge-jobs',
    nothing,
    async *batches(_request, { dryRun }) {
      // Jobs are removed first, since their removal does not need Redis.
      if (dryRun) yield async (tx) => ({ removedJobs: await oldJobs.count(tx) });
      else {
        yield* whileFull(purgeBatchSize, async (tx) => ({ removedJobs: await oldJobs.remove(tx) }));
      }
      const removedQueueEntries = await oldJobs.purgeEntries({ dryRun });
      yield async () => ({ removedQueueEntries });
    },
  };
}
