import { SpanKind } from '@opentelemetry/api';
import { inSpan } from '../../../signer/protocol/tracing/spans.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import { createBatches } from '../../async/batches.ts';
import { ofQueue, type Database } from '../../db/database.ts';
import { leaseSeconds } from '../../db/leases/lease.ts';
import type { Log } from '../../telemetry/log.ts';
import { endAttempts, type ClaimedJob, type Ended } from '../rows/claims.ts';
import { maxRetries } from '../rows/job-rows.ts';
import { JobFailure, toFailure } from '../types/job-failure.ts';
import type { JobType, Outcome } from '../types/job-type.ts';

/** Aborts an attempt because this process shuts down: another process runs the job again. */
export class Interrupted extends Error {}

/** Aborts an attempt because another worker has taken the job over. */
export class LostClaim extends Error {}

interface AttemptsOptions {
  readonly db: Database;
  readonly audit: Pick<AuditTrail, 'appendAll'>;
  readonly log: Log;
  /** Returns a random number from 0 to 1, for the jitter of the back-off. */
  readonly random?: () => number;
}

const endsAtOnce = 100;
const maxBackoffSeconds = 600;

/** Creates the service that makes attempts at claimed jobs and stores how they end. */
export function createAttempts({ db, audit, log, random = Math.random }: AttemptsOptions) {
  const end = createBatches(endsAtOnce, (ended: readonly Ended[]) =>
    db.asService((tx) => endAttempts(tx, ended)),
  );

  async function storeOutcome(
    job: ClaimedJob,
    type: JobType,
    { result, effects }: Outcome<unknown>,
  ): Promise<void> {
    const completed = completedBy(job, type, result);
    if (effects === undefined) {
      await end(completed);
      return;
    }
    // The job that renews the token of a sign-up reads a table that is empty most of the time.
    await db.asService(async (tx) => {
      const events = await effects(tx);
      const [isStored] = await endAttempts(tx, [completed]);
      if (isStored !== true) throw new LostClaim();
      audit.appendAll(tx, events);
    }, ofQueue);
  }

  /**
   * Stores that an attempt failed. Resolves with the milliseconds until the next attempt, or with
   * undefined if there is none.
   */
  async function storeFailure(
    job: ClaimedJob,
    type: JobType,
    failure: JobFailure,
  ): Promise<number | undefined> {
    const { id, type: typeName, attempts } = job;
    const details = { err: failure.cause ?? failure, jobId: id, type: typeName, attempts };
    if (failure.mayRetry && attempts < type.maxAttempts) {
      log.warn(details, 'an attempt at a job failed; the job is tried again');
      const pauseMs = backoffMs(attempts, random());
      return (await end(waiting(job, { pauseMs, isCounted: true }))) ? pauseMs : undefined;
    }
    log.warn(details, 'a job failed');
    await end(failedBy(job, type, failure));
    return undefined;
  }

  async function storeEnd(
    job: ClaimedJob,
    type: JobType,
    error: unknown,
  ): Promise<number | undefined> {
    if (error instanceof LostClaim) return undefined;
    if (!(error instanceof Interrupted)) return storeFailure(job, type, toFailure(error));
    return (await end(waiting(job, { pauseMs: 0, isCounted: false }))) ? 0 : undefined;
  }

  async function attempt(job: ClaimedJob, type: JobType, signal: AbortSignal): Promise<void> {
    if (job.attempts > type.maxAttempts) throw new JobFailure('worker_lost', { mayRetry: true });
    const { id, owner, requestId, payload } = job;
    const work = type.run({ id, owner, requestId, payload, signal });
    await storeOutcome(job, type, await untilAborted(work, signal));
  }

  return {
    /**
     * Makes an attempt at a job and stores its end, unless the claim is lost. Resolves with the
     * milliseconds after which the job is due again, or with undefined if it is not. Never rejects:
     * if the end cannot be stored, the job is due again once its lease has expired.
     */
    async make(job: ClaimedJob, type: JobType, signal: AbortSignal): Promise<number | undefined> {
      try {
        const attributes = { 'probatio.job_id': job.id, attempts: job.attempts };
        const options = { root: true, kind: SpanKind.CONSUMER, attributes };
        await inSpan(`job ${type.name}`, options, () => attempt(job, type, signal));
        return undefined;
      } catch (error) {
        try {
          return await storeEnd(job, type, error);
        } catch (cause) {
          log.warn(
            { err: cause, jobId: job.id, type: job.type },
            'the end of a job was not stored',
          );
          return leaseSeconds * 1_000;
        }
      }
    },
  };
}

/** Settles as `work` does, or rejects with the reason of `signal` as soon as it aborts. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Returns the pause after an attempt: it doubles with each, and half of it is random. */
function backoffMs(attempts: number, random: number): number {
  const seconds = Math.min(2 ** attempts, maxBackoffSeconds);
  return Math.round(seconds * 1_000 * (0.5 + random / 2));
}

const common = { result: null, error: null, retryable: null, pauseMs: 0, isCounted: true } as const;

function completedBy({ id, token }: ClaimedJob, type: JobType, result: unknown): Ended {
  const text = JSON.stringify(type.result.parse(result));
  const { erasesPayload } = type;
  return { ...common, id, token, state: 'COMPLETED', result: text, erasesPayload };
}

function failedBy(
  { id, token, retryCount }: ClaimedJob,
  type: JobType,
  failure: JobFailure,
): Ended {
  const retryable = failure.mayRetry && retryCount < maxRetries;
  const erasesPayload = type.erasesPayload && !retryable;
  return { ...common, id, token, state: 'FAILED', error: failure.code, retryable, erasesPayload };
}

function waiting(
  { id, token }: ClaimedJob,
  { pauseMs, isCounted }: Pick<Ended, 'pauseMs' | 'isCounted'>,
): Ended {
  return { ...common, id, token, state: 'PENDING', erasesPayload: false, pauseMs, isCounted };
}
