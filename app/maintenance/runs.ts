import { inSpan } from '../../signer/protocol/tracing/spans.ts';
import { lengthy } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import type { Act } from '../audit-trail/act.ts';
import { nobody, type RequestEvent } from '../audit-trail/event.ts';
import type { Counts, RunRecords, RunUnderWay } from './records/run-records.ts';
import type { TaskLease, TaskLock } from './task-lock.ts';
import { sumOf, type MaintenanceTask, type RunOptions, type RunRequest } from './tasks/task.ts';

type Report<Name extends string, C extends Counts> = C & {
  readonly task: Name;
  readonly dryRun: boolean;
  readonly startedAt: Date;
  readonly completedAt: Date;
};

interface RunsOptions {
  readonly act: Act;
  readonly lock: TaskLock;
  readonly records: RunRecords;
  readonly isDraining: () => boolean;
}

/** A run, and what each of its batches needs. */
interface Run<C extends Counts> extends RunUnderWay<C> {
  readonly lease: TaskLease;
  readonly request: RunRequest;
  readonly options: RunOptions;
}

/** Creates the service that runs maintenance tasks. */
export function createRuns({ act, lock, records, isDraining }: RunsOptions) {
  async function runBatches<C extends Counts>(
    task: MaintenanceTask<string, C>,
    { id, add, lease, request, options }: Run<C>,
  ): Promise<void> {
    const { dryRun } = options;
    for await (const batch of task.batches(request, options)) {
      if (isDraining()) throw new AppError('shutting_down');
      await act.asService(
        request,
        async (tx) => {
          const counts = await batch(tx);
          const isChange = !dryRun && sumOf(counts) > 0;
          return {
            answer: counts,
            events: isChange ? [ran(task.name, id, request, counts)] : [],
          };
        },
        {
          ...lengthy,
          evenWithFullBacklog: dryRun,
          beforeCommit: async (tx, counts) => {
            if (sumOf(counts) > 0) await add(tx, counts);
            await lease.confirm(tx);
          },
        },
      );
    }
  }

  return {
    /**
     * Runs a task in batches, and records the run. Each batch is one transaction, and appends an
     * audit entry if the batch changed something. The next run completes the work of an interrupted
     * run. Throws maintenance_running while another run of the task is in progress, or if another
     * run began because this one could not renew its lock, shutting_down between batches, and
     * audit_backlog_full unless the run is a dry run.
     */
    run: <Name extends string, C extends Counts>(
      task: MaintenanceTask<Name, C>,
      request: RunRequest,
      options: RunOptions,
    ): Promise<Report<Name, C>> =>
      lock.hold(task.name, async (lease) => {
        const { dryRun } = options;
        const { name, nothing } = task;
        const requestedBy = request.caller.internalKey;
        const { counts, startedAt, completedAt } = await records.record<C>(
          { task: name, dryRun, requestedBy, nothing },
          (run) =>
            inSpan(`maintenance ${name}`, {}, () =>
              runBatches(task, { ...run, lease, request, options }),
            ),
        );
        return { ...counts, task: name, dryRun, startedAt, completedAt };
      }),
  };
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
