import { v7 as uuidv7 } from 'uuid';
import type { Clock } from '../../async/clock.ts';
import type { Database, Tx } from '../../db/database.ts';
import { keepLease } from '../../db/leases/keep-lease.ts';
import { leaseEnd } from '../../db/leases/lease.ts';
import { takesLock } from '../../db/lock-order.ts';
import { AppError } from '../../errors/app-error.ts';
import { removeOldRuns } from './old-runs.ts';

/** The counts of a run by name, such as `removedFiles`. */
export type Counts = Record<string, number>;

/** A run that begins. */
interface NewRun<C extends Counts> {
  readonly task: string;
  readonly dryRun: boolean;
  /** The name of the internal API key that asked for the run. */
  readonly requestedBy: string;
  /** The counts of a run that found nothing. */
  readonly nothing: C;
}

/** A run while it lasts. */
export interface RunUnderWay<C extends Counts> {
  /** UUIDv7. */
  readonly id: string;
  /** Adds the counts of a batch to the record, in the transaction of the batch. */
  add(tx: Tx, counts: Partial<C>): Promise<void>;
}

/** A run that succeeded. */
export interface CompletedRun<C extends Counts> {
  readonly id: string;
  /** The sums over all batches. */
  readonly counts: C;
  readonly startedAt: Date;
  readonly completedAt: Date;
}

export type RunRecords = ReturnType<typeof createRunRecords>;

interface RunRecordsOptions {
  readonly db: Database;
  readonly clock: Clock;
}

/** Creates the service that records the runs of maintenance tasks. */
export function createRunRecords({ db, clock }: RunRecordsOptions) {
  return {
    /**
     * Performs the work of a run and records its beginning, its counts and its end, also if it
     * fails: then throws what `work` threw. The record has a lease, which ends 15 s after the
     * process died. Removes records of runs of the task that are too old.
     */
    async record<C extends Counts>(
      { nothing, ...about }: NewRun<C>,
      work: (run: RunUnderWay<C>) => Promise<void>,
    ): Promise<CompletedRun<C>> {
      const id = uuidv7();
      const startedAt = clock();
      await db.asService(async (tx) => {
        await insertRun(tx, { id, startedAt, ...about });
        await removeOldRuns(tx, about.task);
      });
      let counts = nothing;
      let end: End | undefined;
      const kept = keepLease({
        renew: () => db.asService((tx) => renew(tx, id)),
        release: () => db.asService((tx) => endRun(tx, id, end)),
      });
      try {
        await work({
          id,
          async add(tx, added) {
            counts = sum(counts, added);
            await storeCounts(tx, id, counts);
          },
        });
        end = { endedAt: clock(), error: null };
        return { id, counts, startedAt, completedAt: end.endedAt };
      } catch (error) {
        end = { endedAt: clock(), error: codeOf(error) };
        throw error;
      } finally {
        await kept.release();
      }
    },
  };
}

function codeOf(error: unknown): string {
  return error instanceof AppError ? error.code : 'internal_error';
}

function sum<C extends Counts>(total: C, added: Partial<C>): C {
  const sums = Object.entries(total).map(([name, count]) => [name, count + (added[name] ?? 0)]);
  return { ...total, ...Object.fromEntries(sums) };
}

interface Begun {
  readonly id: string;
  readonly task: string;
  readonly dryRun: boolean;
  readonly requestedBy: string;
  readonly startedAt: Date;
}

async function insertRun(tx: Tx, { id, task, dryRun, requestedBy, startedAt }: Begun) {
  await tx
    .insertInto('maintenance_runs')
    .values({
      id,
      task,
      dry_run: dryRun,
      requested_by: requestedBy,
      started_at: startedAt,
      held_until: leaseEnd(),
    })
    .execute();
}

async function storeCounts(tx: Tx, id: string, counts: Counts): Promise<void> {
  takesLock(tx, 'maintenance run');
  await tx
    .updateTable('maintenance_runs')
    .set({ counts: JSON.stringify(counts) })
    .where('id', '=', id)
    .execute();
}

async function renew(tx: Tx, id: string): Promise<boolean> {
  takesLock(tx, 'maintenance run');
  const { numUpdatedRows } = await tx
    .updateTable('maintenance_runs')
    .set({ held_until: leaseEnd() })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

interface End {
  readonly endedAt: Date;
  /** The code of the error that ended the run; null if it succeeded. */
  readonly error: string | null;
}

async function endRun(tx: Tx, id: string, end: End | undefined): Promise<void> {
  if (end === undefined) return;
  takesLock(tx, 'maintenance run');
  await tx
    .updateTable('maintenance_runs')
    .set({ ended_at: end.endedAt, error: end.error, held_until: null })
    .where('id', '=', id)
    .execute();
}
