import { sql, type Selectable } from 'kysely';
import type { Tx } from '../../db/database.ts';
import type { Schema } from '../../db/schema.ts';
import { isFree } from '../../db/leases/lease.ts';
import type { Counts } from './run-records.ts';

/**
 * The state of a run. An interrupted run ended before its work, since its process was stopped or
 * died; the next run completes the work.
 */
export type RunState = 'RUNNING' | 'SUCCEEDED' | 'FAILED' | 'INTERRUPTED';

/** A run as it is recorded. */
export interface RecordedRun {
  readonly id: string;
  readonly dryRun: boolean;
  readonly requestedBy: string;
  readonly state: RunState;
  /** The code of the error that ended the run. */
  readonly error: string | null;
  readonly counts: Counts;
  readonly startedAt: Date;
  /** Null while the run lasts, and if its process died. */
  readonly endedAt: Date | null;
}

/** The runs of a task. */
export interface RunsOfTask {
  /** The last run that was no dry run. */
  readonly lastRun: RecordedRun | null;
  /** The last run that was no dry run and succeeded. */
  readonly lastSuccess: RecordedRun | null;
  /** The last run, dry runs included, that lasts now. */
  readonly running: RecordedRun | null;
}

type Row = Pick<
  Selectable<Schema['maintenance_runs']>,
  'id' | 'dry_run' | 'requested_by' | 'counts' | 'started_at' | 'ended_at' | 'error'
> & { readonly isHeld: boolean };

/** Finds the runs of a task that tell how it fares. */
export async function findRuns(tx: Tx, task: string): Promise<RunsOfTask> {
  const real = selectRuns(tx, task).where('dry_run', '=', false);
  const last = await real.executeTakeFirst();
  const succeeded = await real
    .where('ended_at', 'is not', null)
    .where('error', 'is', null)
    .executeTakeFirst();
  const running = await selectRuns(tx, task)
    .where('held_until', '>', sql<Date>`now()`)
    .executeTakeFirst();
  return {
    lastRun: toRun(last),
    lastSuccess: toRun(succeeded),
    running: toRun(running),
  };
}

/** Finds the last run of a task, dry runs included. */
export async function findLastRun(tx: Tx, task: string): Promise<RecordedRun | null> {
  return toRun(await selectRuns(tx, task).executeTakeFirst());
}

/** When a task last succeeded. */
export interface LastSuccess<Task extends string> {
  readonly task: Task;
  /** Seconds since 1970; null if no run has ever succeeded. */
  readonly endedAt: number | null;
}

/** Reads when each task last succeeded, without dry runs. */
export async function readLastSuccesses<Task extends string>(
  tx: Tx,
  tasks: readonly Task[],
): Promise<readonly LastSuccess<Task>[]> {
  const { rows } = await sql<LastSuccess<Task>>`
    select task, extract(epoch from (
      select ended_at from maintenance_runs
      where maintenance_runs.task = wanted.task and not dry_run
        and ended_at is not null and error is null
      order by id desc limit 1
    ))::float8 as "endedAt"
    from unnest(${tasks}::text[]) as wanted (task)`.execute(tx);
  return rows;
}

/** Selects the last run of a task: its id is the greatest, since the ids sort by time. */
function selectRuns(tx: Tx, task: string) {
  return tx
    .selectFrom('maintenance_runs')
    .select(['id', 'dry_run', 'requested_by', 'counts', 'started_at', 'ended_at', 'error'])
    .select(sql<boolean>`not ${isFree('held_until')}`.as('isHeld'))
    .where('task', '=', task)
    .orderBy('id', 'desc')
    .limit(1);
}

function toRun(row: Row | undefined): RecordedRun | null {
  if (row === undefined) return null;
  const { id, error, counts, started_at: startedAt, ended_at: endedAt } = row;
  return {
    id,
    dryRun: row.dry_run,
    requestedBy: row.requested_by,
    state: stateOf(row),
    error,
    counts: JSON.parse(counts) as Counts,
    startedAt,
    endedAt,
  };
}

function stateOf({ ended_at: endedAt, error, isHeld }: Row): RunState {
  if (endedAt === null) return isHeld ? 'RUNNING' : 'INTERRUPTED';
  if (error === null) return 'SUCCEEDED';
  return error === 'shutting_down' ? 'INTERRUPTED' : 'FAILED';
}
