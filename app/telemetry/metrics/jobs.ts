import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import type { readStats } from '../../jobs/operation/stats.ts';

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
