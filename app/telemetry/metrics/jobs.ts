import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import type { readStats } from '../../jobs/operation/stats.ts';
import type { LastSuccess } from '../../maintenance/records/recorded-runs.ts';
import { TaskName } from '../../maintenance/schema.ts';

type JobCounts = Awaited<ReturnType<typeof readStats>>;

const states = ['pending', 'active', 'completed', 'failed', 'retried'] as const;

/** Creates the metrics of jobs, which are read from the database. */
export function createJobMetrics(meter: Meter) {
  const jobs = meter.gauge({
    name: 'probatio_jobs',
    help: 'Jobs by state; those that are over are counted for ever',
    labels: { state: { values: states } },
  });
  return {
    clear: (): void => jobs.clear(),
    set(counts: JobCounts): void {
      jobs.setAll(states.map((state) => [{ state }, counts[state]]));
    },
  };
}

/** Creates the metrics of maintenance tasks, which are read from the database. */
export function createMaintenanceMetrics(meter: Meter) {
  const lastSuccess = meter.gauge({
    name: 'probatio_maintenance_last_success_timestamp_seconds',
    help: 'When the task last succeeded, in seconds since 1970; 0 if it never has',
    labels: { task: { values: TaskName.options } },
  });
  return {
    clear: (): void => lastSuccess.clear(),
    set(tasks: readonly LastSuccess<(typeof TaskName.options)[number]>[]): void {
      lastSuccess.setAll(tasks.map(({ task, endedAt }) => [{ task }, endedAt ?? 0]));
    },
  };
}
