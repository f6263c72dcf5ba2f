import type { Tx } from '../../db/database.ts';
import { findLastRun } from '../../maintenance/records/recorded-runs.ts';
import { noneRemoved, type PurgeCounts } from './batch.ts';

/** The name of the purge among the maintenance tasks. */
export const purgeTask = 'purge-accounts';

/** The record of one run of the purge. */
export interface PurgeRecord extends PurgeCounts {
  readonly id: string;
  /** The name of the internal API key that started the run. */
  readonly requestedBy: string;
  readonly dryRun: boolean;
  readonly startedAt: Date;
  /** Null while the run lasts, and if it failed or was interrupted. */
  readonly completedAt: Date | null;
}

/** Finds the last run of the purge, dry runs included. */
export async function findLastPurge(tx: Tx): Promise<PurgeRecord | null> {
  const run = await findLastRun(tx, purgeTask);
  if (run === null) return null;
  const { id, requestedBy, dryRun, startedAt, endedAt, state, counts } = run;
  const completedAt = state === 'SUCCEEDED' ? endedAt : null;
  return { ...noneRemoved, ...counts, id, requestedBy, dryRun, startedAt, completedAt };
}
