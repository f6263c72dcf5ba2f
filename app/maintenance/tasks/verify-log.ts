import type { LogCheck } from '../../audit/log-check/log-check.ts';
import { countMissingPartitions, makePartitions } from '../../audit/partitions/partitions.ts';
import { AppError } from '../../errors/app-error.ts';
import type { MaintenanceTask } from './task.ts';

const nothing = {
  madePartitions: 0,
  checkedEntries: 0,
  checkedTrails: 0,
  damagedEntries: 0,
  missingEntries: 0,
  mendedFindings: 0,
};

/** Number of findings that the error of a run names. */
const named = 10;

interface VerifyLogOptions {
  readonly logCheck: LogCheck;
  /** Days within which the whole log is verified once. */
  readonly verifyDays: number;
}

/**
 * Creates the task that makes the partitions of the audit log for the coming year, and verifies the
 * newest entries of the log and its next stretch. A run ends with log_damaged as long as anything
 * that it or an earlier run found is not whole.
 */
export function createVerifyLog({
  logCheck,
  verifyDays,
}: VerifyLogOptions): MaintenanceTask<'verify-log', typeof nothing> {
  return {
    name: 'verify-log',
    nothing,
    async *batches(_request, { dryRun }) {
      if (dryRun) {
        yield async (tx) => ({
          madePartitions: await countMissingPartitions(tx),
          ...(await logCheck.countDue(tx, verifyDays)),
        });
        return;
      }
      yield async (tx) => ({ madePartitions: await makePartitions(tx) });
      for await (const part of logCheck.check(verifyDays)) {
        yield (tx) => logCheck.record(tx, part);
      }
      const findings = await logCheck.findings(named);
      if (findings.length === 0) return;
      const details = findings.map(({ trailId, resourceType, resourceId, seq, defect }) => ({
        path: `${resourceType ?? 'trail'}/${resourceId ?? trailId}/${seq}`,
        message: defect,
      }));
      throw new AppError('log_damaged', { details });
    },
  };
}
