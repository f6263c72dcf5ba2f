import type { Database, Tx } from '../../db/database.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { JobQueue } from '../queue/queue.ts';
import { selectOld } from './finished-jobs.ts';
import { createEntryPurge, defaultAges, purgeJobs } from './purge.ts';

interface OldJobsOptions {
  readonly db: Database;
  readonly outbox: Outbox;
  readonly queue: Pick<JobQueue, 'listOld' | 'remove'>;
}

export type OldJobs = ReturnType<typeof createOldJobs>;

const reach = 'all tenants';
const { db: jobAge, redis: entryAge } = defaultAges;

/** Creates the service with which maintenance purges old jobs of all tenants, and old entries. */
export function createOldJobs({ db, outbox, queue }: OldJobsOptions) {
  const entries = createEntryPurge({ db, queue });
  return {
    /** Counts the jobs that have been over for 30 days. */
    async count(tx: Tx): Promise<number> {
      const { count } = await selectOld(tx, reach, jobAge.seconds)
        .select(({ fn }) => fn.count<number>('id').as('count'))
        .executeTakeFirstOrThrow();
      return count;
    },

    /**
     * Removes a batch of the jobs that have been over for 30 days. Resolves with their number, less
     * than `purgeBatchSize` in the last batch.
     */
    remove: (tx: Tx): Promise<number> => purgeJobs(tx, outbox, { reach, seconds: jobAge.seconds }),

    /**
     * Removes the entries of the queue that are 7 days old and that no job needs, or only counts
     * them in a dry run. Resolves with their number. Throws queue_unavailable.
     */
    purgeEntries: ({ dryRun }: { readonly dryRun: boolean }): Promise<number> =>
      entries.purge(reach, { seconds: entryAge.seconds, dryRun }),
  };
}
