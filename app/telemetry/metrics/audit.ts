import type { Meter } from '../../../signer/protocol/metrics/meter.ts';
import { maxBatchEntries } from '../../../signer/protocol/protocol.ts';
import { eventKinds, type AuditAction } from '../../audit-trail/event.ts';
import type { Waiting } from '../../audit/dlq/alerts.ts';
import type { SignedBatch } from '../../audit/sealing/sealer.ts';
import type { Pause } from '../../audit/sealing/signer-breaker.ts';

/** The facts about the audit log that the database knows. */
interface LogReading {
  readonly letters: Waiting;
  readonly entries: Waiting;
  /** How many entries were ever sealed. */
  readonly sealed: number;
  /** Places of the log where `verify-log` has found something. */
  readonly findings: number;
  /** Seconds since the newest high-water mark; undefined if there is none. */
  readonly markAgeSeconds: number | undefined;
}

const pauseCauses = ['database', 'other'] as const;
const batchSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Creates the metrics of what this process appends and seals. */
export function createAuditMetrics(meter: Meter) {
  const appended = meter.counter({
    name: 'probatio_audit_entries_appended_total',
    help: 'Audit entries whose transactions this process has committed',
    labels: {
      action: {
        values: Object.keys(eventKinds) as AuditAction[],
        description: 'the action, as in [audit-actions.md](audit-actions.md)',
      },
    },
  });
  const paused = meter.gauge({
    name: 'probatio_sealing_paused',
    help: '1 while this process cannot seal entries for this cause, otherwise 0',
    labels: {
      cause: {
        values: pauseCauses,
        description:
          '`database` if Postgres is unavailable, otherwise `other`; the alert `sealing_paused` ' +
          'names the reason ([dlq.md](dlq.md))',
      },
    },
  });
  return {
    appended: (action: AuditAction): void => appended.add({ action }),
    /** Has the pause of sealing read at each scrape. */
    readPause(pause: () => Pause | undefined): void {
      paused.readWith(() => {
        const present = causeOf(pause());
        return pauseCauses.map((cause) => [{ cause }, cause === present ? 1 : 0]);
      });
    },
    signed: createBatchMetrics(meter),
  };
}

/** Returns the cause of a pause: the signer is not to blame for a database that is unavailable. */
function causeOf(pause: Pause | undefined): (typeof pauseCauses)[number] | undefined {
  if (pause === undefined) return undefined;
  return pause.reason === 'database_unavailable' ? 'database' : 'other';
}

/** Creates the metrics of batches. Returns the function that records one. */
function createBatchMetrics(meter: Meter) {
  const duration = meter.histogram({
    name: 'probatio_sealing_batch_duration_seconds',
    help: 'How long the signer took for batches of entries',
    labels: { result: { values: ['signed', 'failed'] } },
    buckets: batchSeconds,
  });
  const entries = meter.histogram({
    name: 'probatio_sealing_batch_entries',
    help: 'Entries in a batch that was signed',
    labels: {},
    buckets: [1, 4, 16, 64, maxBatchEntries],
  });
  return (batch: SignedBatch): void => {
    duration.observe({ result: batch.isSigned ? 'signed' : 'failed' }, batch.seconds);
    if (batch.isSigned) entries.observe({}, batch.entries);
  };
}

/** Creates the metrics of the log, which are read from the database. */
export function createLogMetrics(meter: Meter) {
  const gauge = (name: string, help: string) => meter.gauge({ name, help, labels: {} });
  const entries = gauge('probatio_audit_unsealed_entries', 'Entries that wait for a signature');
  const entryAge = gauge(
    'probatio_audit_unsealed_oldest_age_seconds',
    'How long the oldest entry without a signature has waited; 0 if none waits',
  );
  const sealed = gauge('probatio_audit_sealed_entries', 'Entries that were ever sealed');
  const findings = gauge(
    'probatio_log_findings',
    'Entries of the log that `verify-log` has found damaged or missing',
  );
  const letters = gauge('probatio_dead_letters', 'Entries in the dead-letter queue');
  const letterAge = gauge(
    'probatio_dead_letter_oldest_age_seconds',
    'How long the oldest entry has been in the dead-letter queue; 0 if it is empty',
  );
  const markAge = gauge(
    'probatio_mark_age_seconds',
    'Age of the newest high-water mark. None is written while no entry is sealed',
  );
  const gauges = [entries, entryAge, sealed, findings, letters, letterAge, markAge];
  return {
    clear(): void {
      for (const each of gauges) each.clear();
    },
    set(reading: LogReading): void {
      entries.set({}, reading.entries.count);
      entryAge.set({}, reading.entries.oldest?.seconds ?? 0);
      sealed.set({}, reading.sealed);
      findings.set({}, reading.findings);
      letters.set({}, reading.letters.count);
      letterAge.set({}, reading.letters.oldest?.seconds ?? 0);
      const { markAgeSeconds } = reading;
      if (markAgeSeconds === undefined) markAge.clear();
      else markAge.set({}, markAgeSeconds);
    },
  };
}
