import { createAlerts, type AlertThresholds } from './alerts.ts';
import { createAbandon } from './abandon.ts';
import { createDlqRetry, type DlqOptions } from './retry.ts';
import { readDlqStats } from './stats.ts';
import type { SharedAddressWatch } from '../../http/requests/shared-address.ts';
import type { Sealer } from '../sealing/sealer.ts';

interface Options extends DlqOptions {
  readonly sealer: Sealer;
  readonly sharedAddress: SharedAddressWatch;
  readonly thresholds: AlertThresholds;
}

export type Dlq = ReturnType<typeof createDlq>;

/**
 * Creates the service of the dead-letter queue, which holds entries that could not be sealed
 * because of their own content.
 */
export function createDlq(options: Options) {
  const { db, sealer, sharedAddress } = options;
  return {
    ...createDlqRetry(options),
    stats: () => readDlqStats(db),
    alerts: createAlerts({
      ...options,
      pausedSince: () => sealer.pausedSince,
      sharedAddress: sharedAddress.current,
    }),
    abandon: createAbandon(options),
  };
}
