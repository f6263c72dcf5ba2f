import { sql } from 'kysely';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import type { Tx } from '../../db/database.ts';
import { isVisibleTo, type JobReader } from '../rows/job-rows.ts';

/** The most jobs that a total counts, so that counting takes no longer the more jobs there are. */
export const maxCounted = 1_000;

interface FailedFilter {
  readonly retryable: boolean | undefined;
  readonly type: string | undefined;
  readonly since: Date | undefined;
}

/** Selects the failed jobs that the reader may see and that the filter asks for. */
export function selectFailed(tx: Tx, reader: JobReader, { retryable, type, since }: FailedFilter) {
  let failed = tx.selectFrom('jobs').where('state', '=', sql.lit('FAILED'));
  if (retryable !== undefined) failed = failed.where('retryable', '=', retryable);
  if (type !== undefined) failed = failed.where('type', '=', type);
  if (since !== undefined) failed = failed.where('finished_at', '>=', since);
  if (reader.reach === undefined) return failed.where(isVisibleTo(reader));
  return failed.where(isInReach(reader.reach));
}

/** Selects the jobs in reach that have been over for at least `seconds`. */
export function selectOld(tx: Tx, reach: Reach, seconds: number) {
  return tx
    .selectFrom('jobs')
    .where('finished_at', '<=', sql<Date>`now() - make_interval(secs => ${seconds})`)
    .where(isInReach(reach));
}

type Selected = ReturnType<typeof selectFailed>;

/** Counts jobs, up to `maxCounted`. */
export async function countJobs(tx: Tx, jobs: Selected): Promise<number> {
  const { count } = await tx
    .selectFrom(jobs.select('id').limit(maxCounted).as('some'))
    .select(({ fn }) => fn.count<number>('id').as('count'))
    .executeTakeFirstOrThrow();
  return count;
}
