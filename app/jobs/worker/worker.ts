import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import { createBatches } from '../../async/batches.ts';
import { repeat } from '../../async/repeat.ts';
import type { Database } from '../../db/database.ts';
import { renewSeconds } from '../../db/leases/lease.ts';
import type { Log } from '../../telemetry/log.ts';
import type { TakenEntry } from '../queue/consumer.ts';
import type { JobQueue } from '../queue/queue.ts';
import { claimJobs, renewClaims, type ClaimedJob } from '../rows/claims.ts';
import { JobFailure } from '../types/job-failure.ts';
import type { JobType } from '../types/job-type.ts';
import { createAttempts, Interrupted, LostClaim } from './attempts.ts';
import { startReconciler } from './reconciler.ts';

interface WorkerOptions {
  readonly db: Database;
  readonly audit: Pick<AuditTrail, 'appendAll'>;
  readonly queue: JobQueue;
  readonly types: ReadonlyMap<string, JobType>;
  readonly log: Log;
}

/** An attempt that this process is making. */
interface Attempt {
  readonly job: ClaimedJob;
  readonly abort: (reason: Error) => void;
}

const claimsAtOnce = 100;
/** Milliseconds after which an entry without a job is looked at once more. */
const missingMs = 1_000;
/** Milliseconds after which an entry is taken again whose job could not be claimed. */
const unclaimedMs = 5_000;

export type JobWorker = ReturnType<typeof startJobWorker>;

/**
 * Starts the worker of this process, which runs jobs as their entries arrive, and looks after those
 * that lost theirs.
 */
export function startJobWorker({ db, audit, queue, types, log }: WorkerOptions) {
  const attempts = createAttempts({ db, audit, log });
  const running = new Set<Attempt>();
  let isStopping = false;
  const claim = createBatches(claimsAtOnce, (ids: readonly string[]) =>
    db.asService((tx) => claimJobs(tx, ids)),
  );

  async function run(job: ClaimedJob, type: JobType): Promise<number | undefined> {
    const controller = new AbortController();
    const attempt = { job, abort: (reason: Error) => controller.abort(reason) };
    const late = new JobFailure('time_limit_exceeded', { mayRetry: true });
    const timer = setTimeout(() => attempt.abort(late), type.timeLimitSeconds * 1_000);
    running.add(attempt);
    // The claim of this job was under way when the worker stopped.
    if (isStopping) attempt.abort(new Interrupted());
    try {
      return await attempts.make(job, type, controller.signal);
    } finally {
      running.delete(attempt);
      clearTimeout(timer);
    }
  }

  /** Handles an entry as HandleEntry describes. */
  async function handle({ id, isNew }: TakenEntry, type: JobType): Promise<number | undefined> {
    try {
      const claimed = await claim(id);
      if (claimed === 'taken') return undefined;
      // The transaction of the submission may still be running.
      if (claimed === 'missing') return isNew ? missingMs : undefined;
      return 'job' in claimed ? await run(claimed.job, type) : claimed.dueInMs;
    } catch (error) {
      log.warn({ err: error, jobId: id }, 'a job could not be claimed; the worker will retry');
      return unclaimedMs;
    }
  }

  /** Renews the leases of all attempts in one statement, and aborts those that lost theirs. */
  async function renew(): Promise<void> {
    const current = [...running];
    if (current.length === 0) return;
    const held = await db.asService((tx) =>
      renewClaims(
        tx,
        current.map(({ job }) => job),
      ),
    );
    for (const attempt of current) {
      if (!held.has(attempt.job.id)) attempt.abort(new LostClaim());
    }
  }

  for (const [name, type] of types) {
    const { concurrency } = type;
    queue.consume(name, { concurrency, handle: (entry) => handle(entry, type), log });
  }
  const renewing = repeat(renewSeconds * 1_000, renew, (error) =>
    log.warn({ err: error }, 'the leases of jobs could not be renewed; retrying'),
  );
  const reconciler = startReconciler({ db, queue, log });
  return {
    /** Interrupts the jobs of this process, which others then run, and stops. */
    async stop(): Promise<void> {
      isStopping = true;
      const stopped = queue.stopConsumers();
      for (const { abort } of running) abort(new Interrupted());
      await Promise.all([stopped, reconciler.stop()]);
      await renewing.stop();
    },
  };
}
