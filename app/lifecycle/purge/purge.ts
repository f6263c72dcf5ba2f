import { nobody } from '../../audit-trail/event.ts';
import type { AuditTrail } from '../../audit-trail/audit-trail.ts';
import type { Clock } from '../../async/clock.ts';
import { lengthy, type Database, type Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import type { InternalCaller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import { countPending, start, type Place } from './expired-accounts.ts';
import { previewBatch, purgeBatch, type PurgeCounts } from './batch.ts';
import { addToRun, beginRun, completeRun, findLastRun, type PurgeRecord } from './runs.ts';

interface Run {
  readonly id: string;
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
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

export type Purge = ReturnType<typeof createPurge>;

/** Creates the service that purges accounts which were never validated. */
export function createPurge({ db, audit, clock, isDraining }: PurgeOptions) {
  /**
   * Resolves with the position after which the next batch begins; undefined after the last batch.
   */
  async function runBatch(tx: Tx, run: Run, after: Place): Promise<Place | undefined> {
    const work = run.dryRun ? previewBatch : purgeBatch;
    const { counts, next } = await work(tx, after, clock());
    if (counts.purgedAccounts > 0) await addToRun(tx, run.id, counts);
    if (counts.purgedAccounts > 0 && !run.dryRun) await audit.append(tx, purged(run, counts));
    return next;
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
      if (!dryRun) audit.assertWritable();
      const cause = { dryRun, requestedBy: caller.internalKey, requestId };
      const id = await db.asService((tx) => beginRun(tx, { ...cause, now: clock() }));
      let place: Place | undefined = start;
      while (place !== undefined) {
        if (isDraining()) throw new AppError('shutting_down');
        const after: Place = place;
        place = await db.asService((tx) => runBatch(tx, { id, ...cause }, after), lengthy);
      }
      return db.asService((tx) => completeRun(tx, id, clock()), lengthy);
    },

    /** Returns the counts that a purge would find now, and the record of the last run. */
    status: (): Promise<PurgeStatus> =>
      db.asService(async (tx) => {
        const { pending, expired, oldest } = await countPending(tx, clock());
        return {
          pendingAccounts: pending,
          expiredAccounts: expired,
          oldestExpiredAt: oldest,
          lastRun: (await findLastRun(tx)) ?? null,
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
