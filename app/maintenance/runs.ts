import { v7 as uuidv7 } from 'uuid';
import { nobody, type AuditEvent } from '../trail/event.ts';
import type { AuditTrail } from '../trail/trail.ts';
import type { Clock } from '../async/clock.ts';
import type { Database } from '../db/database.ts';
import { AppError } from '../errors/app-error.ts';
import { sumOf, type Counts, type MaintenanceTask, type RunRequest } from './task.ts';
import type { TaskLock } from './task-lock.ts';

type Report<Name extends string, C extends Counts> = C & {
  readonly task: Name;
  readonly dryRun: boolean;
  readonly startedAt: Date;
  readonly completedAt: Date;
};

interface Runs {
  /**
   * Runs a task in batches that each happen or do not, and leaves an entry of each that changed
   * something. What a run that was cut off has left, the next one does. Throws maintenance_running
   * while another run of the task is under way, shutting_down between batches, audit_backlog_full.
   */
  run<Name extends string, C extends Counts>(
    task: MaintenanceTask<Name, C>,
    request: RunRequest,
  ): Promise<Report<Name, C>>;
}

interface RunsOptions {
  readonly db: Database;
  readonly audit: AuditTrail;
  readonly lock: TaskLock;
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

export function createRuns(options: RunsOptions): Runs {
  const { db, audit, lock, clock, isDraining } = options;

  async function runBatches<C extends Counts>(
    task: MaintenanceTask<string, C>,
    request: RunRequest,
  ): Promise<C> {
    const runId = uuidv7();
    let total = task.nothing;
    for await (const batch of task.batches(request)) {
      if (isDraining()) throw new AppError('shutting_down');
      if (!request.dryRun) audit.assertWritable();
      const counts = await db.asService(async (tx) => {
        const counts = await batch(tx);
        const isChange = !request.dryRun && sumOf(counts) > 0;
        if (isChange) await audit.append(tx, ran(task.name, runId, request, counts));
        return counts;
      });
      total = add(total, counts);
    }
    return total;
  }

  return {
    run: (task, request) =>
      lock.hold(task.name, async () => {
        const startedAt = clock();
        const counts = await runBatches(task, request);
        const { dryRun } = request;
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
  { requestedBy, requestId }: RunRequest,
  counts: Partial<Counts>,
): AuditEvent {
  return {
    action: 'maintenance.ran',
    actor: { type: 'system', id: requestedBy },
    owner: nobody,
    resource: { type: 'maintenance', id: runId },
    requestId,
    data: { task, ...counts },
  };
}
