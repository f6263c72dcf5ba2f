import type { Clock } from '../../async/clock.ts';
import { within } from '../../async/within.ts';
import type { FreeSpace } from '../../storage/interface/object-store.ts';
import type { StoreWatch } from '../../storage/store-watch.ts';
import { ageAt, tooLong, type Alert } from './alert.ts';

/** Milliseconds that a list of alerts waits for the object store, which may hang. */
const patienceMs = 2_000;

interface StorageAlertsOptions {
  readonly storage: StoreWatch;
  /** The percentage of free space or free inodes below which `storage_low` is raised. */
  readonly freePercent: number;
  readonly clock: Clock;
}

/**
 * Creates the function that returns the alerts about the room in the object store, as this process
 * sees it. Without an answer of the store within two seconds, it returns what was known before.
 */
export function createStorageAlerts({ storage, freePercent, clock }: StorageAlertsOptions) {
  let low: { readonly percent: number; readonly since: Date } | undefined;

  function noteFree(free: FreeSpace | undefined): void {
    const percent = free === undefined ? 100 : Math.floor(100 * Math.min(free.bytes, free.inodes));
    low = percent < freePercent ? { percent, since: low?.since ?? clock() } : undefined;
  }

  async function look(): Promise<void> {
    await Promise.all([
      // Errors but for a full store are those of the health checks.
      storage.check().catch(() => undefined),
      storage.freeSpace().then(noteFree, () => undefined),
    ]);
  }

  return async (): Promise<readonly (Alert | undefined)[]> => {
    await within(patienceMs, look());
    return [
      tooLong(ageAt(clock(), storage.fullSince), 0, {
        code: 'storage_full',
        severity: 'critical',
        message: 'The object store takes no more data: uploads are answered with 503.',
      }),
      low === undefined
        ? undefined
        : {
            code: 'storage_low',
            severity: 'warning',
            message: 'The file system of the object store has little free space or few inodes.',
            value: low.percent,
            threshold: freePercent,
            since: low.since,
          },
    ];
  };
}
