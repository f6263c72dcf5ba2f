import { v7 as uuidv7 } from 'uuid';
import type { Clock } from '../async/clock.ts';
import { lengthy } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Act } from '../audit-trail/act.ts';
import { nobody, type RequestEvent } from '../audit-trail/event.ts';
import type { TaskLease, TaskLock } from './task-lock.ts';
import {
  sumOf,
  type Counts,
  type MaintenanceTask,
  type RunOptions,
  type RunRequest,
} from './task.ts';

type Report<Name extends string, C extends Counts> = C & {
  readonly task: Name;
  readonly dryRun: boolean;
  readonly startedAt: Date;
  readonly completedAt: Date;
};

interface RunsOptions {
  readonly act: Act;
  readonly lock: TaskLock;
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

/** Creates the service that runs maintenance tasks. */
export function createRuns({ act, lock, clock, isDraining }: RunsOptions) {
  async function runBatches<C extends Counts>(
    task: MaintenanceTask<string, C>,
    lease: TaskLease,
    request: RunRequest,
    options: RunOptions,
  ): Promise<C> {
    const runId = uuidv7();
    const { dryRun } = options;
    let total = task.nothing;
    for await (const batch of task.batches(request, options)) {
      if (isDraining()) throw new AppError('shutting_down');
      const counts = await act.asService(
        request,
        async (tx) => {
          const counts = await batch(tx);
          const isChange = !dryRun && sumOf(counts) > 0;
          return {
            answer: counts,
            events: isChange ? [ran(task.name, runId, request, counts)] : [],
          };
        },
        {
          ...lengthy,
          evenWithFullBacklog: dryRun,
          beforeCommit: (tx) => lease.confirm(tx),
        },
      );
      total = add(total, counts);
    }
    return total;
  }

  return {
    /**
     * Runs a task in batches. Each batch is one transaction, and appends an audit entry if the
     * batch changed something. The next run completes the work of an interrupted run. Throws
     * maintenance_running while another run of the task is in progress, or if another run began
     * because this one could not renew its lock, shutting_down between batches, and
     * audit_backlog_full unless the run is a dry run.
     */
    run: <Name extends string, C extends Counts>(
      task: MaintenanceTask<Name, C>,
      request: RunRequest,
      options: RunOptions,
    ): Promise<Report<Name, C>> =>
      lock.hold(task.name, async (lease) => {
        const startedAt = clock();
        const counts = await runBatches(task, lease, request, options);
        const { dryRun } = options;
        return { ...counts, task: task.name, dryRun, startedAt, completedAt: clock() };
      }),
  };
}

function add<C extends Counts>(total: C, counts: Partial<C>): C {
  const sums = Object.entries(total).map(([name, sum]) => [name, sum + (counts[name] ?? 0)]);
  return { ...total, ...Object.fromEntries(sums) };
}

function ran(
  task: string,
  runId: string,
  { caller }: RunRequest,
  counts: Partial<Counts>,
): RequestEvent {
  return {
    action: 'maintenance.ran',
    actor: { type: 'system', id: caller.internalKey },
    owner: nobody,
    resource: { type: 'maintenance', id: runId },
    data: { task, ...counts },
  };
}
