import { sql } from 'kysely';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import type { Tx } from '../../db/database.ts';
import type { JobState } from '../../db/tables/workers.ts';

type Counts = Readonly<Record<Lowercase<JobState> | 'totalProcessed', number>>;

/**
 * Counts the jobs in reach by state. Those that are over are counted when they end, so that the
 * cost does not grow with their number.
 */
export async function readStats(tx: Tx, reach: Reach): Promise<Counts> {
  const rows = await tx
    .selectFrom('job_totals')
    .select(['state', sql<number>`sum(count)::float8`.as('count')])
    .where(isInReach(reach))
    .groupBy('state')
    .unionAll(
      tx
        .selectFrom('jobs')
        .select(['state', sql<number>`count(id)::float8`.as('count')])
        .where('state', 'in', [sql.lit('PENDING' as const), sql.lit('ACTIVE' as const)])
        .where(isInReach(reach))
        .groupBy('state'),
    )
    .execute();
  const countOf = (state: JobState) => rows.find((row) => row.state === state)?.count ?? 0;
  const completed = countOf('COMPLETED');
  const failed = countOf('FAILED');
  const retried = countOf('RETRIED');
  return {
    pending: countOf('PENDING'),
    active: countOf('ACTIVE'),
    completed,
    failed,
    retried,
    totalProcessed: completed + failed + retried,
  };
}
