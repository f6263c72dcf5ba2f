import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { readQueues } from '../../audit/dlq/alerts.ts';
import type { QueueStart } from '../../audit/sealing/queue-cursor.ts';
import { countFindings } from '../../audit/log-check/findings.ts';
import type { Clock } from '../../async/clock.ts';
import { repeat } from '../../async/repeat.ts';
import { ofQueue, type Database, type Tx } from '../../db/database.ts';
import { readNewestAge } from '../../encryption-keys/generation-rows.ts';
import { readStats } from '../../jobs/operation/stats.ts';
import { readLastSuccesses } from '../../maintenance/records/recorded-runs.ts';
import { TaskName } from '../../maintenance/schema.ts';
import { countParkedByKind } from '../../outbox/parked.ts';
import { countWaiting } from '../../outbox/waiting.ts';
import { countSealed } from '../../restore/high-water-marks/log-state.ts';
import { readNewestMark } from '../../restore/high-water-marks/mark-record.ts';
import { readKeyAges } from '../../signing-keys/rows/key-ages.ts';
import type { Log } from '../log.ts';
import { createLogMetrics } from './audit.ts';
import { createJobMetrics, createMaintenanceMetrics } from './jobs.ts';
import { createKeyMetrics } from './keys.ts';
import { createOutboxMetrics } from './outbox.ts';

const readEveryMs = 15_000;
/** Milliseconds for which values remain while newer ones cannot be read. */
const keptMs = 60_000;

type ReadingMetrics = ReturnType<typeof createReadingMetrics>;

interface Meters {
  readonly own: Meter;
  readonly read: Meter;
}

/** Creates the metrics that are read from the database, and those of this process's readings. */
export function createReadingMetrics({ own, read }: Meters) {
  return {
    log: createLogMetrics(read),
    keys: createKeyMetrics(read),
    outbox: createOutboxMetrics(read),
    jobs: createJobMetrics(read),
    maintenance: createMaintenanceMetrics(read),
    readAt: own.gauge({
      name: 'probatio_readings_timestamp_seconds',
      help: 'When the values from the database were last read, in seconds since 1970',
      labels: {},
    }),
    failures: own.counter({
      name: 'probatio_readings_failed_total',
      help: 'Attempts to read the values from the database that failed',
      labels: {},
    }),
  };
}

interface ReadingsOptions {
  readonly metrics: ReadingMetrics;
  readonly db: Database;
  readonly cursor: QueueStart;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Starts to read what the database knows every 15 seconds, in one transaction, until stopped. A
 * scrape costs no query, and every replica tells the same.
 */
export function startReadings(options: ReadingsOptions) {
  const reading = repeat(readEveryMs, createReading(options));
  reading.now();
  return { stop: (): Promise<void> => reading.stop() };
}

/** Creates the function that reads what the database knows. It never rejects. */
export function createReading({ metrics, db, cursor, clock, log }: ReadingsOptions) {
  const { log: auditLog, keys, outbox, jobs, maintenance, readAt, failures } = metrics;
  let succeededAt = clock();
  let isFailing = false;

  function noteFailure(error: unknown): void {
    failures.add({});
    if (!isFailing) log.warn({ err: error }, 'metrics could not be read from the database');
    isFailing = true;
    if (clock().getTime() - succeededAt.getTime() < keptMs) return;
    for (const subject of [auditLog, keys, outbox, jobs, maintenance]) subject.clear();
  }

  return async function read(): Promise<void> {
    try {
      const values = await db.asService((tx) => readAll(tx, cursor), ofQueue);
      auditLog.set(values.log);
      keys.set(values.keys);
      outbox.set(values.outbox);
      jobs.set(values.jobs);
      maintenance.set(values.maintenance);
      succeededAt = clock();
      readAt.set({}, succeededAt.getTime() / 1_000);
      isFailing = false;
    } catch (error) {
      noteFailure(error);
    }
  };
}

async function readAll(tx: Tx, cursor: QueueStart) {
  return {
    log: {
      ...(await readQueues(tx, cursor)),
      sealed: await countSealed(tx),
      findings: (await countFindings(tx, 'all tenants')).count,
      markAgeSeconds: (await readNewestMark(tx))?.ageSeconds,
    },
    keys: { signing: await readKeyAges(tx), encryptionAgeSeconds: await readNewestAge(tx) },
    outbox: { waiting: await countWaiting(tx), parked: await countParkedByKind(tx) },
    jobs: await readStats(tx, 'all tenants'),
    maintenance: await readLastSuccesses(tx, TaskName.options),
  };
}
