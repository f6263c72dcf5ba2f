import { createAlerts, type AlertThresholds, type ReadAlerts } from './alerts.ts';
import { createAbandon, type Abandon } from './abandon.ts';
import { createDlqRetry, type DlqOptions, type DlqRetry } from './retry.ts';
import { readDlqStats, type DlqStats } from './stats.ts';
import type { Sealer } from '../sealing/sealer.ts';

/** The dead-letter queue: entries whose sealing failed for their own sake. */
export interface Dlq extends DlqRetry {
  stats(): Promise<DlqStats>;
  readonly alerts: ReadAlerts;
  readonly abandon: Abandon;
}

interface Options extends DlqOptions {
  readonly sealer: Sealer;
  readonly thresholds: AlertThresholds;
}

export function createDlq(options: Options): Dlq {
  const { db, sealer } = options;
  return {
    ...createDlqRetry(options),
    stats: () => readDlqStats(db),
    alerts: createAlerts({ ...options, pausedSince: () => sealer.pausedSince }),
    abandon: createAbandon(options),
  };
}
