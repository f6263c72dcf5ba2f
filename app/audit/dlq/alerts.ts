import { sql, type RawBuilder } from 'kysely';
import { isInReach, type Reach } from '../../accounts/reach.ts';
import { noticedSkewSeconds, type ClockWatch, type Skew } from '../../clocks/clock-watch.ts';
import type { Clock } from '../../async/clock.ts';
import { ofQueue, type Database, type Tx } from '../../db/database.ts';
import { sharedByUsers, type SharedAddress } from '../../http/requests/shared-address.ts';
import type { Breach, Isolation } from '../../db/isolation/isolation.ts';
import type { QueueStart } from '../sealing/queue-cursor.ts';
import type { StoreWatch } from '../../storage/store-watch.ts';
import type { Pause } from '../sealing/signer-breaker.ts';
import {
  ageAt,
  createPartitionAlert,
  tooLong,
  type Age,
  type Alert,
  type Wording,
} from './alert.ts';
import { countFindings } from '../log-check/findings.ts';
import { faultAlert, fileAlerts, type FileFaults } from './file-alerts.ts';
import { readMonthsAhead } from '../partitions/partitions.ts';
import { createStorageAlerts } from './storage-alerts.ts';

/** The thresholds of the alerts: a value that reaches its threshold raises an alert. */
export interface AlertThresholds {
  readonly deadLetters: number;
  readonly deadLetterAgeSeconds: number;
  readonly backlog: number;
  readonly backlogAgeSeconds: number;
  readonly pauseSeconds: number;
  /** The percentage of free space or inodes of the object store; lower values raise an alert. */
  readonly storageFreePercent: number;
}

export interface AlertsOptions {
  readonly db: Database;
  readonly cursor: QueueStart;
  readonly isolation: Pick<Isolation, 'breach'>;
  readonly clocks: Pick<ClockWatch, 'skewTo'>;
  /** Returns since when and why this process cannot seal; undefined while it can. */
  readonly pause: () => Pause | undefined;
  readonly storage: StoreWatch;
  /** Counts the faults of stored files in reach, as checks have found them. */
  readonly countFaults: (tx: Tx, reach: Reach) => Promise<FileFaults>;
  /** Returns the client address that many users share, as this process has found it. */
  readonly sharedAddress: () => SharedAddress | undefined;
  readonly thresholds: AlertThresholds;
  readonly clock: Clock;
}

/** Creates the function that returns the alerts whose conditions hold now. */
export function createAlerts(options: AlertsOptions) {
  const { db, cursor, isolation, clocks, pause, storage, sharedAddress, thresholds, clock } =
    options;
  const { countFaults } = options;
  const listStorageAlerts = createStorageAlerts({
    storage,
    freePercent: thresholds.storageFreePercent,
    clock,
  });
  const partitionAlert = createPartitionAlert(clock);
  /**
   * Returns the alerts about letters, entries and files in reach; `sealing_paused`, `storage_full`,
   * `storage_low`, `clock_skew`, `shared_client_address` and `isolation_broken` describe this
   * process alone. While the isolation is broken, nothing is asked for the others.
   */
  return async (reach: Reach): Promise<Alert[]> => {
    if (isolation.breach !== undefined) return [isolationAlert(isolation.breach, clock())];
    const [{ letters, entries, faults, findings, months }, storageAlerts] = await Promise.all([
      db.asService(
        async (tx) => ({
          letters: await findWaiting(tx, lettersInOrder(reach), thresholds.deadLetters),
          entries: await findWaiting(tx, unsealedInOrder(reach, cursor), thresholds.backlog),
          faults: await countFaults(tx, reach),
          findings: await countFindings(tx, reach),
          months: await readMonthsAhead(tx),
        }),
        ofQueue,
      ),
      listStorageAlerts(),
    ]);
    const alerts: (Alert | undefined)[] = [
      tooMany(letters, thresholds.deadLetters, {
        code: 'dead_letters',
        severity: 'warning',
        message: 'Entries are in the dead-letter queue.',
      }),
      tooLong(letters.oldest, thresholds.deadLetterAgeSeconds, {
        code: 'dead_letter_old',
        severity: 'critical',
        message: 'An entry has been in the dead-letter queue for too long: retry or abandon it.',
      }),
      tooMany(entries, thresholds.backlog, {
        code: 'backlog_large',
        severity: 'warning',
        message: 'Many entries wait for their signature.',
      }),
      tooLong(entries.oldest, thresholds.backlogAgeSeconds, {
        code: 'backlog_old',
        severity: 'critical',
        message: 'An entry has waited too long for its signature.',
      }),
      paused(pause(), thresholds.pauseSeconds, clock()),
      ...storageAlerts,
      ...fileAlerts(faults),
      faultAlert(findings, {
        code: 'log_damaged',
        severity: 'critical',
        message: 'Audit entries are damaged or missing: restore them from a backup.',
      }),
      partitionAlert(months),
      shared(sharedAddress()),
      skewed(clocks.skewTo('database'), 'Postgres'),
      skewed(clocks.skewTo('signer'), 'the signer'),
    ];
    return alerts.filter((alert) => alert !== undefined);
  };
}

function isolationAlert({ problem, since }: Breach, now: Date): Alert {
  const value = Math.floor((now.getTime() - since.getTime()) / 1_000);
  const message = `Users are not isolated in the database, so nothing is served: ${problem}.`;
  return { code: 'isolation_broken', severity: 'critical', message, value, threshold: 0, since };
}

/** The rows that wait in a queue. */
export interface Waiting {
  readonly count: number;
  /** The age of the oldest row by the clock of the database, which also set the creation times. */
  readonly oldest: Age | undefined;
  /** Creation time of the row that reached the threshold; undefined below the threshold. */
  readonly reachedAt: Date | undefined;
}

/** Reads how many dead letters and unsealed entries of all tenants wait, and since when. */
export async function readQueues(tx: Tx, cursor: QueueStart) {
  return {
    letters: await findWaiting(tx, lettersInOrder('all tenants'), 1),
    entries: await findWaiting(tx, unsealedInOrder('all tenants', cursor), 1),
  };
}

function lettersInOrder(reach: Reach) {
  return sql`
    select l.created_at from audit_dead_letters l join audit_log e on e.id = l.entry_id
    where l.status = 'PENDING' and ${isInReach(reach, 'e.tenant_id')} order by l.created_at`;
}

function unsealedInOrder(reach: Reach, { lowest }: QueueStart) {
  return sql`
    select e.created_at from audit_queue q join audit_log e on e.id = q.entry_id
    where q.transaction_id >= ${lowest}::xid8 and ${isInReach(reach, 'e.tenant_id')}
    order by e.created_at`;
}

async function findWaiting(
  tx: Tx,
  inOrder: RawBuilder<unknown>,
  threshold: number,
): Promise<Waiting> {
  const { rows } = await sql<{
    readonly count: number;
    readonly oldest: Date | null;
    readonly now: Date;
    readonly reached: Date | null;
  }>`
    with waiting as materialized (${inOrder})
    select count(*) as count, min(created_at) as oldest, clock_timestamp() as now,
      (select created_at from waiting offset ${threshold - 1} limit 1) as reached
    from waiting`.execute(tx);
  const [row] = rows;
  return {
    count: row?.count ?? 0,
    oldest: row === undefined ? undefined : ageAt(row.now, row.oldest ?? undefined),
    reachedAt: row?.reached ?? undefined,
  };
}

function tooMany(
  { count, reachedAt }: Waiting,
  threshold: number,
  wording: Wording,
): Alert | undefined {
  if (reachedAt === undefined) return undefined;
  return { ...wording, value: count, threshold, since: reachedAt };
}

function paused(pause: Pause | undefined, threshold: number, now: Date): Alert | undefined {
  const reason = pause?.reason ?? '';
  return tooLong(ageAt(now, pause?.since), threshold, {
    code: 'sealing_paused',
    severity: 'critical',
    message: `This process cannot seal entries, now for the reason ${reason}; its log has more.`,
  });
}

function shared(address: SharedAddress | undefined): Alert | undefined {
  if (address === undefined) return undefined;
  return {
    code: 'shared_client_address',
    severity: 'warning',
    message: 'Many users share one client address: add your proxy to HTTP_TRUSTED_PROXIES.',
    value: address.users,
    threshold: sharedByUsers,
    since: address.since,
  };
}

function skewed(skew: Skew | undefined, name: string): Alert | undefined {
  if (skew === undefined) return undefined;
  const direction = skew.seconds > 0 ? 'ahead of' : 'behind';
  return {
    code: 'clock_skew',
    severity: 'critical',
    message: `The clock of this process is ${direction} that of ${name}: synchronise the clocks.`,
    value: Math.round(Math.abs(skew.seconds)),
    threshold: noticedSkewSeconds,
    since: skew.since,
  };
}
