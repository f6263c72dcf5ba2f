import type { Meter } from '../../../signer/protocol/metrics/meter.ts';

/** Creates the metrics of event streams. */
export function createStreamMetrics(meter: Meter) {
  const open = meter.gauge({
    name: 'probatio_event_streams',
    help: 'Event streams that clients of this process have open',
    labels: { kind: { values: ['sync', 'jobs'] } },
  });
  return {
    /** Has the numbers of open streams read at each scrape. */
    readOpen({ sync, jobs }: { readonly sync: () => number; readonly jobs: () => number }): void {
      open.readWith(() => [
        [{ kind: 'sync' }, sync()],
        [{ kind: 'jobs' }, jobs()],
      ]);
    },
  };
}
