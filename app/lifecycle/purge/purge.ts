import { nobody } from '../../audit-trail/event.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import type { Clock } from '../../async/clock.ts';
import { lengthy, type Database, type Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { InternalCaller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { countPending, start, type Place } from './expired-accounts.ts';
import type { RunRecords, RunUnderWay } from '../../maintenance/records/run-records.ts';
import { noneRemoved, previewBatch, purgeBatch, type PurgeCounts } from './batch.ts';
import { findLastPurge, purgeTask, type PurgeRecord } from './runs.ts';

interface Run extends RunUnderWay<PurgeCounts> {
  /** Whether the run only counts and removes nothing. */
  readonly dryRun: boolean;
  /** The name of the internal API key that started the run. */
  readonly requestedBy: string;
  readonly requestId: string;
}

interface PurgeStatus {
  /** The number of accounts that are not validated. */
  readonly pendingAccounts: number;
  /** The number of accounts that are not validated and whose tokens have all expired. */
  readonly expiredAccounts: number;
  /** When the last token of the longest expired account expired. */
  readonly oldestExpiredAt: Date | null;
  readonly lastRun: PurgeRecord | null;
}

interface PurgeOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly records: RunRecords;
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

export type Purge = ReturnType<typeof createPurge>;

/** Creates the service that purges accounts which were never validated. */
export function createPurge({ db, audit, records, clock, isDraining }: PurgeOptions) {
  /**
   * Resolves with the position after which the next batch begins; undefined after the last batch.
   */
  async function runBatch(tx: Tx, run: Run, after: Place): Promise<Place | undefined> {
    const work = run.dryRun ? previewBatch : purgeBatch;
    const { counts, next } = await work(tx, after, clock());
    if (counts.purgedAccounts === 0) return next;
    if (!run.dryRun) await audit.append(tx, purged(run, counts));
    await run.add(tx, counts);
    return next;
  }

  async function runBatches(run: Run): Promise<void> {
    if (!run.dryRun) audit.assertWritable();
    let place: Place | undefined = start;
    while (place !== undefined) {
      if (isDraining()) throw new AppError('shutting_down');
      const after: Place = place;
      place = await db.asService((tx) => runBatch(tx, run, after), lengthy);
    }
  }

  return {
    /**
     * Removes every account that was never validated and whose tokens have expired, in batches that
     * are each one transaction. Concurrent runs share the work; a later run removes what an
     * interrupted run left. Accounts with unsealed audit entries are left to a later run. A dry run
     * only counts. Throws shutting_down between batches, and audit_backlog_full.
     */
    async run(
      { caller, requestId }: ServiceRequest<InternalCaller>,
      { dryRun }: { readonly dryRun: boolean },
    ): Promise<PurgeRecord & { readonly completedAt: Date }> {
      const requestedBy = caller.internalKey;
      const about = { task: purgeTask, dryRun, requestedBy, nothing: noneRemoved };
      const { counts, ...run } = await records.record<typeof noneRemoved>(about, (begun) =>
        runBatches({ ...begun, dryRun, requestedBy, requestId }),
      );
      return { ...run, ...counts, dryRun, requestedBy };
    },

    /** Returns the counts that a purge would find now, and the record of the last run. */
    status: (): Promise<PurgeStatus> =>
      db.asService(async (tx) => {
        const { pending, expired, oldest } = await countPending(tx, clock());
        return {
          pendingAccounts: pending,
          expiredAccounts: expired,
          oldestExpiredAt: oldest,
          lastRun: await findLastPurge(tx),
        };
      }, lengthy),
  };
}

function purged({ id, requestedBy, requestId }: Run, counts: PurgeCounts) {
  return {
    action: 'account.purged',
    actor: { type: 'system', id: requestedBy },
    owner: nobody,
    resource: { type: 'purge', id },
    requestId,
    data: counts,
  } as const;
}
