import { AppError } from '../../errors/app-error.ts';
import { StorageError } from '../../storage/interface/storage-error.ts';

interface FailureOptions extends ErrorOptions {
  /** Whether another attempt may succeed. */
  readonly mayRetry: boolean;
}

/** Thrown by the work of a job: a stable code, which the job shows as its `error`. */
export class JobFailure extends Error {
  override readonly name = 'JobFailure';
  readonly code: string;
  readonly mayRetry: boolean;

  constructor(code: string, { mayRetry, ...options }: FailureOptions) {
    super(code, options);
    this.code = code;
    this.mayRetry = mayRetry;
  }
}

/**
 * Returns the failure that an error of a job's work means. What is away may come back, and so may
 * an error that nobody foresaw; a refusal stays.
 */
export function toFailure(error: unknown): JobFailure {
  if (error instanceof JobFailure) return error;
  if (error instanceof StorageError) {
    const mayRetry = error.code === 'storage_unavailable' || error.code === 'storage_full';
    return new JobFailure(error.code, { mayRetry, cause: error });
  }
  if (error instanceof AppError) {
    return new JobFailure(error.code, { mayRetry: error.status >= 500, cause: error });
  }
  return new JobFailure('internal_error', { mayRetry: true, cause: error });
}
