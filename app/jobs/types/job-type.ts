import type { z } from 'zod';
import type { AuditEvent } from '../../audit-trail/event.ts';
import type { Owner, Tx } from '../../db/database.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';

/** A job in the hands of a worker. */
export interface RunningJob<Stored> {
  readonly id: string;
  readonly owner: Owner;
  /** The server's id of the request that submitted the job, for audit entries. */
  readonly requestId: string;
  readonly payload: Stored;
  /**
   * Aborted at the end of the time limit, at a shutdown, and when another worker has taken the job
   * over. Nothing that the work does after that is stored.
   */
  readonly signal: AbortSignal;
}

/** The result of a job. */
export interface Outcome<Result> {
  readonly result: Result;
  /**
   * Stores what the job has changed, in the transaction that stores the result: both or neither.
   * Resolves with the events to record. It is called once for each attempt to store the result.
   */
  readonly effects?: (tx: Tx) => Promise<readonly AuditEvent[]>;
}

interface JobTypeOptions<Payload extends z.ZodType, Stored, Result extends z.ZodType> {
  /** The wire name, such as `EMAIL_VALIDATION`. */
  readonly name: string;
  readonly payload: Payload;
  readonly result: Result;
  /** Number of jobs of this type that one process runs at a time. */
  readonly concurrency: number;
  /** Seconds that an attempt may take. */
  readonly timeLimitSeconds: number;
  /** Number of attempts after which the job fails, if each of them may be retried. */
  readonly maxAttempts: number;
  /** Whether the payload is erased once it is not needed any more, as it names a person. */
  readonly erasesPayload: boolean;
  /**
   * Checks a submission, before anything is stored, and returns the payload to store. Throws the
   * AppError with which the submission is refused.
   */
  readonly prepare: (request: ServiceRequest, payload: z.output<Payload>) => Promise<Stored>;
  /**
   * Does the work. It may be called several times for a job, and another process may do it at the
   * same time. Throws JobFailure, StorageError or AppError.
   */
  readonly run: (job: RunningJob<Stored>) => Promise<Outcome<z.input<Result>>>;
}

/** A type of jobs, whatever its payload and result are. */
export interface JobType extends Omit<
  JobTypeOptions<z.ZodType, unknown, z.ZodType>,
  'prepare' | 'run'
> {
  /** `payload` has the form that the schema `payload` states. */
  readonly prepare: (request: ServiceRequest, payload: unknown) => Promise<unknown>;
  readonly run: (job: RunningJob<unknown>) => Promise<Outcome<unknown>>;
}

/** Defines a type of jobs: its schemas, its limits and its work. */
export function jobType<Payload extends z.ZodType, Stored, Result extends z.ZodType>(
  options: JobTypeOptions<Payload, Stored, Result>,
): JobType {
  return {
    ...options,
    prepare: (request, payload) => options.prepare(request, payload as z.output<Payload>),
    run: (job) => options.run({ ...job, payload: job.payload as Stored }),
  };
}
