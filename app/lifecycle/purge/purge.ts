import { nobody } from '../../trail/event.ts';
import type { AuditTrail } from '../../trail/trail.ts';
import { removeExpired } from '../../sessions/login-sessions.ts';
import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import { AppError } from '../../errors/app-error.ts';
import { countPending, start, type Place } from './expired-accounts.ts';
import { previewBatch, purgeBatch, type PurgeCounts } from './batch.ts';
import { addToRun, beginRun, completeRun, findLastRun, type PurgeRecord } from './runs.ts';

interface PurgeRequest {
  /** Counts only. */
  readonly dryRun: boolean;
  /** The name of the internal API key. */
  readonly requestedBy: string;
  readonly requestId: string;
}

interface PurgeStatus {
  /** Never validated so far. */
  readonly pendingAccounts: number;
  /** Those of them whose tokens have all ended. */
  readonly expiredAccounts: number;
  /** When the last token of the longest expired one ended. */
  readonly oldestExpiredAt: Date | null;
  readonly lastRun: PurgeRecord | null;
}

export interface Purge {
  /**
   * Removes every account that was never validated and whose tokens have ended, in batches that
   * each happen or do not. Several runs at once share the work; what one leaves, the next removes.
   * An account with an entry that is not sealed waits for a later run. Removes login sessions that
   * ended long ago, too. Throws shutting_down between batches, and audit_backlog_full.
   */
  run(request: PurgeRequest): Promise<PurgeRecord & { readonly completedAt: Date }>;
  status(): Promise<PurgeStatus>;
}

interface PurgeOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

export function createPurge({ db, audit, clock, isDraining }: PurgeOptions): Purge {
  /** Answers where it came to; undefined at the end. */
  async function runBatch(
    tx: Tx,
    { dryRun, requestedBy, requestId }: PurgeRequest,
    { runId, after }: { runId: string; after: Place },
  ): Promise<Place | undefined> {
    const work = dryRun ? previewBatch : purgeBatch;
    const { counts, next } = await work(tx, after, clock());
    if (counts.purgedAccounts > 0) await addToRun(tx, runId, counts);
    if (counts.purgedAccounts > 0 && !dryRun) {
      await audit.append(tx, purged(runId, counts, { requestedBy, requestId }));
    }
    return next;
  }

  return {
    async run(request) {
      if (!request.dryRun) audit.assertWritable();
      const runId = await db.asService((tx) => beginRun(tx, { ...request, now: clock() }));
      let place: Place | undefined = start;
      while (place !== undefined) {
        if (isDraining()) throw new AppError('shutting_down');
        const after: Place = place;
        place = await db.asService((tx) => runBatch(tx, request, { runId, after }));
      }
      return db.asService(async (tx) => {
        const now = clock();
        if (!request.dryRun) await removeExpired(tx, now);
        return completeRun(tx, runId, now);
      });
    },

    status: () =>
      db.asService(async (tx) => {
        const { pending, expired, oldest } = await countPending(tx, clock());
        return {
          pendingAccounts: pending,
          expiredAccounts: expired,
          oldestExpiredAt: oldest,
          lastRun: (await findLastRun(tx)) ?? null,
        };
      }),
  };
}

function purged(
  runId: string,
  counts: PurgeCounts,
  { requestedBy, requestId }: Pick<PurgeRequest, 'requestedBy' | 'requestId'>,
) {
  return {
    action: 'account.purged',
    actor: { type: 'system', id: requestedBy },
    owner: nobody,
    resource: { type: 'purge', id: runId },
    requestId,
    data: { ...counts },
  } as const;
}
