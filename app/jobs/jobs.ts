import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { backlogChecked, type Act, type Acted } from '../audit-trail/act.ts';
import type { Database, Tx } from '../db/database.ts';
import type { ServiceRequest } from '../http/requests/request.ts';
import { cutPage } from '../http/responses/page.ts';
import type { RateLimits } from '../limits/rate-limits.ts';
import type { Entry } from './queue/old-entries.ts';
import type { JobQueue } from './queue/queue.ts';
import {
  assertRetryable,
  findJob,
  insertJob,
  readerOf,
  selectJobs,
  takeForRetry,
  type JobRow,
} from './rows/job-rows.ts';
import type { JobPage, JobView, RetriedJobView, SubmittedJob } from './schema.ts';
import type { JobType } from './types/job-type.ts';

/**
 * Milliseconds after which a worker may have dropped the entry of a job that was not committed yet.
 */
const droppedAfterMs = 1_000;

interface JobsOptions {
  readonly db: Database;
  readonly act: Act;
  readonly queue: Pick<JobQueue, 'add'>;
  readonly limits: RateLimits;
  readonly types: ReadonlyMap<string, JobType>;
}

/** A job as a client asks for it; the payload has the form of its type. */
interface Submission {
  readonly type: string;
  readonly payload: unknown;
}

export type Jobs = ReturnType<typeof createJobs>;

/** Creates the service with which users submit jobs and look after them. */
export function createJobs({ db, act, queue, limits, types }: JobsOptions) {
  function typeNamed(name: string): JobType {
    const type = types.get(name);
    if (type === undefined) throw new TypeError(`there is no type of jobs ${name}`);
    return type;
  }

  /** Counts a submission. Throws rate_limited and audit_backlog_full. */
  async function admit(request: ServiceRequest): Promise<void> {
    act.assertWritable(request);
    await limits.consume('job-user', request.caller.userId);
  }

  /**
   * Adds the entry of a job and then commits the job. Nothing is to be undone if either fails: an
   * entry without a job is dropped.
   */
  async function commitQueued<T>(entry: Entry, commit: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    await queue.add(entry);
    const answer = await commit();
    const isLate = performance.now() - startedAt > droppedAfterMs;
    // If this fails too, the reconciler adds the entry.
    if (isLate) await queue.add(entry).catch(() => undefined);
    return answer;
  }

  async function submit(
    request: ServiceRequest,
    { type, payload }: Submission,
  ): Promise<z.input<typeof SubmittedJob>> {
    await admit(request);
    const stored = JSON.stringify(await typeNamed(type).prepare(request, payload));
    const id = uuidv7();
    const { caller: owner, requestId } = request;
    const insert = async (tx: Tx) => {
      const submittedAt = await insertJob(tx, { id, owner, type, payload: stored, requestId });
      const resource = { type: 'job', id } as const;
      return {
        answer: { jobId: id, status: 'PENDING' as const, submittedAt },
        events: [{ action: 'job.submitted' as const, resource, data: { type } }],
      };
    };
    return commitQueued({ type, id }, () => act(request, insert, backlogChecked));
  }

  async function retry(
    request: ServiceRequest,
    jobId: string,
  ): Promise<z.input<typeof RetriedJobView>> {
    await admit(request);
    const reader = readerOf(request.caller);
    const found = await findJob(db, request.caller, jobId);
    assertRetryable(found);
    const id = uuidv7();
    const replace = async (tx: Tx): Promise<Acted<z.input<typeof RetriedJobView>>> => {
      const { type, payload, ...job } = await takeForRetry(tx, reader, jobId);
      const owner = { userId: job.user_id, tenantId: job.tenant_id };
      const retryOf = { id: jobId, retryCount: job.retry_count };
      const { requestId } = request;
      const submittedAt = await insertJob(tx, { id, owner, type, payload, requestId, retryOf });
      const retryCount = job.retry_count + 1;
      const retried = {
        action: 'job.retried',
        owner,
        actor: { type: 'user', id: request.caller.userId },
        resource: { type: 'job', id: jobId },
        data: { type, jobId: id, retryCount },
      } as const;
      const answer = { jobId: id, originalJobId: jobId, status: 'PENDING' as const };
      return { answer: { ...answer, retryCount, submittedAt }, events: [retried] };
    };
    const commit = () => act.asService(request, replace, backlogChecked);
    return commitQueued({ type: found.type, id }, commit);
  }

  return {
    /**
     * Accepts a job, which a worker runs later. Nothing is stored unless the queue has acknowledged
     * the job's entry. Throws queue_unavailable, rate_limited, quota_exceeded, audit_backlog_full,
     * and what the type throws.
     */
    submit,

    /**
     * Submits a failed job again, as a new job. Throws not_found, job_not_failed,
     * job_retries_used_up, job_not_retryable, and as `submit` does.
     */
    retry,

    /** Returns a job that the caller may see. Throws not_found. */
    get: async ({ caller }: ServiceRequest, jobId: string): Promise<z.input<typeof JobView>> =>
      toView(await findJob(db, caller, jobId)),

    /** Lists the caller's own jobs, newest first. `cursor` is undefined on the last page. */
    list: ({ caller }: ServiceRequest, { limit, cursor }: z.output<typeof JobPage>) =>
      db.asUser(caller, async (tx) => {
        const own = selectJobs(tx)
          .where('user_id', '=', caller.userId)
          .where('tenant_id', '=', caller.tenantId);
        const rows = await (cursor === undefined ? own : own.where('id', '<', cursor))
          .orderBy('id', 'desc')
          .limit(limit + 1)
          .execute();
        const page = cutPage(rows, {
          limit,
          cursorOf: ({ id }) => id,
          bytesOf: ({ result }) => result?.length ?? 0,
        });
        return { jobs: page.rows.map(toView), cursor: page.cursor };
      }),
  };
}

/** Returns a job as the API shows it. */
function toView(row: JobRow): z.input<typeof JobView> {
  const { finished_at: finishedAt, state, retryable } = row;
  return {
    jobId: row.id,
    type: row.type as z.input<typeof JobView>['type'],
    status: state,
    submittedAt: row.submitted_at,
    completedAt: state === 'COMPLETED' ? finishedAt : null,
    failedAt: state === 'FAILED' || state === 'RETRIED' ? finishedAt : null,
    result: row.result === null ? null : JSON.parse(row.result),
    error: row.error,
    retryable,
    retryCount: row.retry_count,
    originalJobId: row.original_id,
  };
}
