import type { ClockWatch } from '../../clocks/clock-watch.ts';
import type { Isolation } from '../../db/isolation/isolation.ts';
import { createAlerts, type AlertsOptions, type AlertThresholds } from './alerts.ts';
import { createAbandon } from './abandon.ts';
import { lettersInReach } from './operator.ts';
import { createDlqRetry, type DlqOptions } from './retry.ts';
import { readDlqStats } from './stats.ts';
import type { SharedAddressWatch } from '../../http/requests/shared-address.ts';
import type { Caller, InternalCaller } from '../../http/requests/caller.ts';
import type { ServiceRequest } from '../../http/requests/request.ts';
import type { StoreWatch } from '../../storage/store-watch.ts';
import type { Sealer } from '../sealing/sealer.ts';

interface Options extends DlqOptions {
  readonly sealer: Sealer;
  readonly cursor: AlertsOptions['cursor'];
  readonly sharedAddress: SharedAddressWatch;
  readonly isolation: Pick<Isolation, 'breach'>;
  readonly clocks: Pick<ClockWatch, 'skewTo'>;
  readonly storeWatch: StoreWatch;
  readonly countFaults: AlertsOptions['countFaults'];
  readonly thresholds: AlertThresholds;
}

type OperatorRequest = ServiceRequest<Caller | InternalCaller>;

export type Dlq = ReturnType<typeof createDlq>;

/**
 * Creates the service of the dead-letter queue, which holds entries that could not be sealed
 * because of their own content.
 */
export function createDlq(options: Options) {
  const { db, sealer, storeWatch, sharedAddress } = options;
  const alerts = createAlerts({
    ...options,
    pause: () => sealer.pause,
    storage: storeWatch,
    sharedAddress: sharedAddress.current,
  });
  return {
    ...createDlqRetry(options),
    /** Counts the dead letters that the caller may see. */
    stats: ({ caller }: OperatorRequest) => readDlqStats(db, lettersInReach(caller)),
    /** Returns the alerts about the letters, entries and files that the caller may see. */
    alerts: ({ caller }: OperatorRequest) => alerts(lettersInReach(caller)),
    abandon: createAbandon(options),
  };
}
