import { sql, type Selectable } from 'kysely';
import { isInReach, reachOf, type Reach } from '../../accounts/reach.ts';
import { lockName } from '../../db/advisory-lock.ts';
import type { Database, Owner, Tx } from '../../db/database.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { Schema } from '../../db/schema.ts';
import { AppError } from '../../errors/app-error.ts';
import type { Caller } from '../../http/requests/caller.ts';

/** How often a job can be retried, counted along its chain. */
export const maxRetries = 3;
/** Maximum number of jobs of a user that are not over. */
export const maxOpenJobs = 100;

export type JobRow = Pick<Selectable<Schema['jobs']>, (typeof columns)[number]>;

const columns = [
  'id',
  'user_id',
  'tenant_id',
  'type',
  'state',
  'original_id',
  'retry_count',
  'result',
  'error',
  'retryable',
  'submitted_at',
  'finished_at',
] as const;

/** The jobs that a reader may see: their own, and those in reach of their duty. */
export interface JobReader extends Owner {
  readonly reach: Reach | undefined;
}

/** Selects jobs without their payloads, which nobody needs to see again. */
export function selectJobs(tx: Tx) {
  return tx.selectFrom('jobs').select(columns);
}

/** Returns the SQL condition that the reader may see a job. */
export function isVisibleTo({ userId, tenantId, reach }: JobReader) {
  const isOwn = sql`(user_id = ${userId}::uuid and tenant_id = ${tenantId})`;
  return reach === undefined
    ? sql<boolean>`${isOwn}`
    : sql<boolean>`(${isOwn} or ${isInReach(reach)})`;
}

interface NewJob {
  readonly id: string;
  readonly owner: Owner;
  readonly type: string;
  /** JSON text. */
  readonly payload: string;
  readonly requestId: string;
  /** The job that this one retries. */
  readonly retryOf?: { readonly id: string; readonly retryCount: number };
}

/**
 * Number of open jobs of a user below which the next one needs no lock: fewer submissions than are
 * still allowed then can be under way at the same time.
 */
const fewOpenJobs = maxOpenJobs / 2;

/**
 * Inserts a job and resolves with the time of its submission. Throws quota_exceeded if the owner
 * has 100 jobs that are not over.
 */
export async function insertJob(tx: Tx, job: NewJob): Promise<Date> {
  takesLock(tx, 'job');
  const atOnce = await insertUnlessMore(tx, job, fewOpenJobs);
  if (atOnce !== undefined) return atOnce;
  await lockName(tx, `jobs:${job.owner.userId}`);
  const submittedAt = await insertUnlessMore(tx, job, maxOpenJobs);
  if (submittedAt === undefined) throw tooMany();
  return submittedAt;
}

/** Inserts a job if its owner has fewer than `limit` jobs that are not over. */
async function insertUnlessMore(tx: Tx, job: NewJob, limit: number): Promise<Date | undefined> {
  const { id, owner, type, payload, requestId, retryOf } = job;
  const { userId, tenantId } = owner;
  const retryCount = retryOf === undefined ? 0 : retryOf.retryCount + 1;
  const { rows } = await sql<{ submittedAt: Date }>`
    insert into jobs (id, user_id, tenant_id, type, payload, request_id, original_id, retry_count)
    select ${id}, ${userId}, ${tenantId}, ${type}, ${payload}, ${requestId},
      ${retryOf?.id ?? null}::uuid, ${retryCount}
    where (
      select count(id) from jobs
      where tenant_id = ${tenantId} and user_id = ${userId} and state in ('PENDING', 'ACTIVE')
    ) < ${limit}
    returning submitted_at as "submittedAt"`.execute(tx);
  return rows[0]?.submittedAt;
}

function tooMany(): AppError {
  const message = `at most ${maxOpenJobs} jobs can be waiting or running; submit more later`;
  return new AppError('quota_exceeded', {
    details: [{ path: 'jobs', message }],
    retryAfterSeconds: 60,
  });
}

/** Returns which jobs a caller may see. */
export function readerOf(caller: Caller): JobReader {
  const { userId, tenantId } = caller;
  return { userId, tenantId, reach: reachOf(caller, 'operation') };
}

/** Finds a job that the caller may see. Throws not_found. */
export async function findJob(db: Database, caller: Caller, id: string): Promise<JobRow> {
  const reader = readerOf(caller);
  const find = (tx: Tx) =>
    selectJobs(tx).where('id', '=', id).where(isVisibleTo(reader)).executeTakeFirst();
  const row = await (reader.reach === undefined ? db.asUser(caller, find) : db.asService(find));
  if (row === undefined) throw new AppError('not_found');
  return row;
}

/** Throws job_not_failed, job_retries_used_up or job_not_retryable if a job cannot be retried. */
export function assertRetryable(job: Pick<JobRow, 'state' | 'retryable' | 'retry_count'>): void {
  if (job.state !== 'FAILED') throw new AppError('job_not_failed');
  if (job.retry_count >= maxRetries) throw new AppError('job_retries_used_up');
  if (job.retryable !== true) throw new AppError('job_not_retryable');
}

/** A failed job, and what its retry needs. */
export type RetriedJob = JobRow & { readonly payload: string };

/**
 * Marks a failed job as retried, forgets its payload, and resolves with the job as it was. Throws
 * not_found, and as `assertRetryable` does.
 */
export async function takeForRetry(tx: Tx, reader: JobReader, id: string): Promise<RetriedJob> {
  takesLock(tx, 'job');
  const row = await selectJobs(tx)
    .select('payload')
    .where('id', '=', id)
    .where(isVisibleTo(reader))
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined) throw new AppError('not_found');
  assertRetryable(row);
  await tx
    .updateTable('jobs')
    .set({ state: 'RETRIED', payload: null })
    .where('id', '=', id)
    .execute();
  return { ...row, payload: row.payload ?? 'null' };
}
