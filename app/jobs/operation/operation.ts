import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { reachOf, type Reach } from '../../accounts/reach.ts';
import { nobody } from '../../audit-trail/event.ts';
import { backlogChecked, type Act, type Acted } from '../../audit-trail/act.ts';
import { lengthy, type Database, type Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import type { JobQueue } from '../queue/queue.ts';
import { readerOf, type JobReader } from '../rows/job-rows.ts';
import type { FailedJobs, FailedQuery, PurgeableQuery, Purged, PurgeQuery } from './schema.ts';
import { countJobs, selectFailed, selectOld } from './finished-jobs.ts';
import { createEntryPurge, defaultAges, purgeBatchSize, purgeJobs } from './purge.ts';
import { readStats } from './stats.ts';

/** Number of jobs that a dry run lists. */
const previewed = 100;

interface OperationOptions {
  readonly outbox: Outbox;
  readonly db: Database;
  readonly act: Act;
  readonly queue: Pick<JobQueue, 'listOld' | 'remove'>;
}

export type JobOperation = ReturnType<typeof createJobOperation>;

/** Creates the service with which operators look after the jobs of all users. */
export function createJobOperation({ db, act, outbox, queue }: OperationOptions) {
  const entries = createEntryPurge({ db, queue });

  /** Removes old jobs in batches, each with its audit entry. Resolves with their number. */
  async function purgeOld(
    request: ServiceRequest,
    { seconds, redis }: { readonly seconds: number | undefined; readonly redis: number },
  ): Promise<number> {
    const reach = operatorsReach(request.caller);
    const resource = { type: 'job_purge', id: uuidv7() } as const;
    let left = redis;
    const purgeBatch = async (tx: Tx): Promise<Acted<number>> => {
      const removed = seconds === undefined ? 0 : await purgeJobs(tx, outbox, { reach, seconds });
      const purged = {
        action: 'jobs.purged',
        owner: nobody,
        resource,
        data: { db: removed, redis: left },
      } as const;
      return { answer: removed, events: removed + left > 0 ? [purged] : [] };
    };
    for (let total = 0; ; left = 0) {
      request.hangUp?.throwIfAborted();
      const removed = await act.asService(request, purgeBatch, { ...lengthy, ...backlogChecked });
      total += removed;
      if (removed < purgeBatchSize) return total;
    }
  }

  async function purge(
    request: ServiceRequest,
    { target, olderThan, dryRun }: z.output<typeof PurgeQuery>,
  ): Promise<z.input<typeof Purged>> {
    if (!dryRun) act.assertWritable(request);
    const reach = operatorsReach(request.caller);
    const ageOf = (name: 'db' | 'redis') =>
      target === undefined || target === name ? (olderThan ?? defaultAges[name]) : undefined;
    const ages = { db: ageOf('db'), redis: ageOf('redis') };
    // First, since it fails without Redis.
    const redis =
      ages.redis === undefined
        ? 0
        : await entries.purge(reach, { seconds: ages.redis.seconds, dryRun });
    const report = {
      target: target ?? ('both' as const),
      olderThan: { db: ages.db?.text ?? null, redis: ages.redis?.text ?? null },
      dryRun,
    };
    if (!dryRun) {
      const removed = await purgeOld(request, { seconds: ages.db?.seconds, redis });
      return { ...report, purged: { db: removed, redis } };
    }
    if (ages.db === undefined) return { ...report, purged: { db: 0, redis }, jobs: [] };
    const { seconds } = ages.db;
    return db.asService(async (tx) => {
      const old = selectOld(tx, reach, seconds);
      const { count } = await old
        .select(({ fn }) => fn.count<number>('id').as('count'))
        .executeTakeFirstOrThrow();
      return { ...report, purged: { db: count, redis }, jobs: await listOld(tx, reach, seconds) };
    }, lengthy);
  }

  return {
    /** Counts the jobs in the caller's reach by state. */
    stats: ({ caller }: ServiceRequest) =>
      db.asService((tx) => readStats(tx, operatorsReach(caller))),

    /**
     * Lists jobs that failed, those that failed last first: the caller's own, or for operators
     * those in reach.
     */
    failed({ caller }: ServiceRequest, query: z.output<typeof FailedQuery>) {
      const { retryable, jobType, since, limit } = query;
      const reader = readerOf(caller);
      const filter = { retryable, type: jobType, since };
      const read = (tx: Tx) => listFailed(tx, reader, { filter, limit });
      return reader.reach === undefined ? db.asUser(caller, read) : db.asService(read);
    },

    /** Lists jobs in the caller's reach that a purge with this age would remove, oldest first. */
    purgeable: ({ caller }: ServiceRequest, query: z.output<typeof PurgeableQuery>) =>
      db.asService(async (tx) => {
        const { olderThan = defaultAges.db, limit } = query;
        const reach = operatorsReach(caller);
        const total = await countJobs(tx, selectOld(tx, reach, olderThan.seconds));
        return { jobs: await listOld(tx, reach, olderThan.seconds, limit), total };
      }),

    /**
     * Removes jobs in the caller's reach that have been over for long, and old entries of the
     * queue that no job needs. A dry run only counts. Throws queue_unavailable and
     * audit_backlog_full.
     */
    purge,
  };
}

function operatorsReach(caller: Caller): Reach {
  const reach = reachOf(caller, 'operation');
  if (reach === undefined) throw new AppError('access_denied');
  return reach;
}

interface FailedPage {
  readonly filter: Parameters<typeof selectFailed>[2];
  readonly limit: number;
}

async function listFailed(
  tx: Tx,
  reader: JobReader,
  { filter, limit }: FailedPage,
): Promise<z.input<typeof FailedJobs>> {
  const failed = selectFailed(tx, reader, filter);
  const rows = await failed
    .select(['id', 'type', 'finished_at', 'error', 'retryable'])
    .orderBy('finished_at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
  const jobs = rows.map(({ id, type, finished_at: failedAt, error, retryable }) => ({
    jobId: id,
    type: type as z.input<typeof FailedJobs>['jobs'][number]['type'],
    status: 'FAILED' as const,
    failedAt: failedAt as Date,
    error: error ?? 'internal_error',
    retryable: retryable ?? false,
  }));
  return { jobs, total: await countJobs(tx, failed) };
}

/** Lists the jobs in reach that have been over for at least `seconds`, oldest first. */
async function listOld(tx: Tx, reach: Reach, seconds: number, limit = previewed) {
  const rows = await selectOld(tx, reach, seconds)
    .select(['id', 'type', 'state', 'finished_at'])
    .orderBy('finished_at')
    .orderBy('id')
    .limit(limit)
    .execute();
  type Listed = NonNullable<z.input<typeof Purged>['jobs']>[number];
  return rows.map(({ id, type, state, finished_at: completedAt }) => ({
    jobId: id,
    type: type as Listed['type'],
    status: state as Listed['status'],
    completedAt: completedAt as Date,
  }));
}
