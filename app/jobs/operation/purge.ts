import { sql } from 'kysely';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import type { Database, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import { removeExports } from '../../evidence-exports/rows/export-rows.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { Entry } from '../queue/old-entries.ts';
import type { JobQueue } from '../queue/queue.ts';
import { selectOld } from './finished-jobs.ts';

/** The ages from which jobs and entries of the queue are purged unless a request names one. */
export const defaultAges = {
  db: { text: '30d', seconds: 30 * 86_400 },
  redis: { text: '7d', seconds: 7 * 86_400 },
} as const;

/** Number of jobs that one transaction removes. */
export const purgeBatchSize = 1_000;

/**
 * Removes a batch of the jobs in reach that have been over for at least `seconds`, with their
 * archives. Resolves with their number, which is less than `purgeBatchSize` in the last batch.
 */
export async function purgeJobs(
  tx: Tx,
  outbox: Outbox,
  { reach, seconds }: { readonly reach: Reach; readonly seconds: number },
): Promise<number> {
  takesLock(tx, 'job');
  const old = await selectOld(tx, reach, seconds)
    .select('id')
    .orderBy('finished_at')
    .limit(purgeBatchSize)
    .forUpdate()
    .skipLocked()
    .execute();
  const jobIds = old.map(({ id }) => id);
  await removeExports(tx, outbox, { jobIds });
  const { numDeletedRows } = await tx
    .deleteFrom('jobs')
    .where('id', '=', sql<string>`any(${jobIds}::uuid[])`)
    .executeTakeFirst();
  return Number(numDeletedRows);
}

interface EntryPurgeOptions {
  readonly db: Database;
  readonly queue: Pick<JobQueue, 'listOld' | 'remove'>;
}

/** Creates the service that purges the queue of entries that no job needs any more. */
export function createEntryPurge({ db, queue }: EntryPurgeOptions) {
  /** Returns those of the entries whose jobs are over or, if all are in reach, do not exist. */
  async function unneeded(entries: readonly Entry[], reach: Reach): Promise<Entry[]> {
    const rows = await db.asService((tx) =>
      tx
        .selectFrom('jobs')
        .select(['id', 'finished_at', isInReach(reach).as('isInReach')])
        .where('id', '=', sql<string>`any(${entries.map(({ id }) => id)}::uuid[])`)
        .execute(),
    );
    const jobs = new Map(rows.map((row) => [row.id, row]));
    return entries.filter(({ id }) => {
      const job = jobs.get(id);
      if (job === undefined) return reach === 'all tenants';
      return job.isInReach && job.finished_at !== null;
    });
  }

  return {
    /**
     * Removes entries that are at least `seconds` old, or only counts them in a dry run. Resolves
     * with their number. Entries of jobs that are not over stay.
     */
    async purge(
      reach: Reach,
      { seconds, dryRun }: { readonly seconds: number; readonly dryRun: boolean },
    ): Promise<number> {
      let purged = 0;
      const found: Entry[] = [];
      for await (const entries of queue.listOld(seconds * 1_000)) {
        found.push(...(await unneeded(entries, reach)));
      }
      for (const entry of found) purged += dryRun ? 1 : await queue.remove(entry);
      return purged;
    },
  };
}
