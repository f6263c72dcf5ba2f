import { isFree } from '../../db/leases/lease.ts';
import { takesLock } from '../../db/lock-order.ts';
import type { Tx } from '../../db/database.ts';

/** Number of the newest runs of each task that are kept. */
export const keptRuns = 1_000;
/** The most runs that one call removes: a vault may have many from before there was a bound. */
const removedAtOnce = 500;

/**
 * Removes the runs of a task that are older than its newest `keptRuns`. The last run that was no
 * dry run, the last of these that succeeded, and runs that last stay: `findRuns` shows them.
 */
export async function removeOldRuns(tx: Tx, task: string): Promise<void> {
  takesLock(tx, 'maintenance run');
  const ofTask = tx.selectFrom('maintenance_runs').where('task', '=', task);
  const newest = ofTask.select('id').orderBy('id', 'desc');
  const lastReal = newest.where('dry_run', '=', false).limit(1);
  const lastSuccess = lastReal.where('ended_at', 'is not', null).where('error', 'is', null);
  const old = ofTask
    .select('id')
    .where('id', '<=', newest.offset(keptRuns).limit(1))
    .where(isFree('held_until'))
    .where(({ and, eb }) =>
      and([eb('id', 'is distinct from', lastReal), eb('id', 'is distinct from', lastSuccess)]),
    )
    .orderBy('id')
    .limit(removedAtOnce);
  await tx.deleteFrom('maintenance_runs').where('id', 'in', old).execute();
}
