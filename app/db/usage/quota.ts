import { AppError } from '../../errors/app-error.ts';

/**
 * The counters of each user, in the order of the columns of `usage` and of the arrays that its
 * triggers add (app/db/baseline/usage.ts).
 */
export const counters = [
  'openUploads',
  'storageBytes',
  'uploads',
  'uploadParts',
  'documents',
  'metadataBytes',
  'keywords',
  'devices',
  'shares',
  'shareRecipients',
  'syncObjects',
  'syncObjectBytes',
  'historyEntries',
  'historyBytes',
  'keptAnswers',
  'keptAnswerBytes',
] as const;

export type Counter = (typeof counters)[number];

export type Counts = Readonly<Record<Counter, number>>;

interface Exceeded {
  readonly counter: string;
  readonly used: number;
  readonly limit: number;
}

/** The SQLSTATE with which `settle_usage` refuses a commit that would exceed a limit. */
const quotaState = 'PQ001';

/** Returns the limits as the Postgres array that `settle_usage` reads. */
export function formatLimits(limits: Counts): string {
  return `{${counters.map((counter) => limits[counter]).join(',')}}`;
}

/** Returns the error whose details name each exceeded limit. */
export function quotaExceeded(exceeded: readonly Exceeded[], cause?: unknown): AppError {
  const details = exceeded.map(({ counter, used, limit }) => ({
    path: counter,
    message: `is at ${used} of ${limit}`,
  }));
  return new AppError('quota_exceeded', { details, retryAfterSeconds: 3600, cause });
}

/** Returns quota_exceeded if a commit failed for a limit, and undefined for other errors. */
export function findQuotaError(error: unknown): AppError | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code, detail } = error as { code?: string; detail?: string };
  if (code !== quotaState || detail === undefined) return findQuotaError(error.cause);
  const columns = JSON.parse(detail) as { column: number; used: number; limit: number }[];
  const exceeded = columns.map(({ column, used, limit }) => ({
    counter: counters[column - 1] ?? String(column),
    used,
    limit,
  }));
  return quotaExceeded(exceeded, error);
}
