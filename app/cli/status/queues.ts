import type { Alert, LettersAnswer, MaintenanceAnswer } from './answers.ts';
import { judged, look, runbook, well, type Finding } from './finding.ts';
import { count, moment } from './times.ts';

const explained = 'see docs/dlq.md#what-an-alert-means';

/** The advice for the alerts that have better than `explained`. */
const advice: Readonly<Record<string, string>> = {
  sealing_paused: runbook('SignerDown'),
  storage_full: 'see docs/health.md#a-full-object-store',
  storage_low: 'see docs/health.md#a-full-object-store',
  files_damaged: 'see docs/jobs.md#damaged-files',
  files_unreadable: 'see docs/jobs.md#damaged-files',
  log_damaged: runbook('LogBroken'),
  partitions_few: 'run probatio maintenance verify-log',
};

/** The alerts that are told with the queue that they are about. */
const ofQueues: ReadonlySet<string> = new Set([
  'dead_letters',
  'dead_letter_old',
  'backlog_large',
  'backlog_old',
]);

/** Returns a finding for each alert of the vault that is about no queue. */
export function findAlerts(alerts: readonly Alert[], now: Date): readonly Finding[] {
  const others = alerts.filter(({ code }) => !ofQueues.has(code));
  if (others.length === 0) return [well('alerts', 'no other alert of dlq/alerts is raised')];
  return others.map(({ code, severity, message, value, threshold, since }) =>
    look(
      `alert ${code}`,
      `${severity}: ${message} Value ${value}, threshold ${threshold}, since ${moment(since, now)}`,
      advice[code] ?? explained,
    ),
  );
}

export function findBacklog(
  { backlog: { unsigned, oldestAt } }: MaintenanceAnswer,
  alerts: readonly Alert[],
  now: Date,
): Finding {
  const oldest = oldestAt === null ? '' : `, the oldest from ${moment(oldestAt, now)}`;
  return judged('backlog', `${count(unsigned, 'audit entry', 'audit entries')} unsigned${oldest}`, {
    problem: raised(alerts, 'backlog_'),
    advice: runbook('UnsealedBacklog'),
  });
}

export function findLetters(
  { pending, oldestAt, byReason }: LettersAnswer,
  alerts: readonly Alert[],
  now: Date,
): Finding {
  const reasons = Object.entries(byReason).map(([reason, number]) => `${reason} ${number}`);
  const oldest = oldestAt === null ? '' : `, the oldest since ${moment(oldestAt, now)}`;
  const why = reasons.length === 0 ? '' : `, by reason: ${reasons.join(', ')}`;
  const text = `${count(pending, 'entry', 'entries')} in the dead-letter queue${oldest}${why}`;
  return judged('dead letters', text, {
    problem: raised(alerts, 'dead_letter'),
    advice: runbook('DLQStale'),
  });
}

export function findOutbox({ outbox }: MaintenanceAnswer, now: Date): Finding {
  const { waiting, oldestAt, parked } = outbox;
  const kinds = Object.entries(parked).map(([kind, number]) => `${kind} ${number}`);
  const oldest = oldestAt === null ? '' : `, the oldest from ${moment(oldestAt, now)}`;
  return judged('outbox', `${count(waiting, 'message')} waiting${oldest}`, {
    problem: kinds.length === 0 ? undefined : `messages are parked (${kinds.join(', ')})`,
    advice: runbook('OutboxParked'),
  });
}

/** Names the alerts about a queue with their thresholds; undefined if there are none. */
function raised(alerts: readonly Alert[], prefix: string): string | undefined {
  const ofQueue = alerts.filter(({ code }) => ofQueues.has(code) && code.startsWith(prefix));
  if (ofQueue.length === 0) return undefined;
  return ofQueue
    .map(({ code, severity, threshold }) => `${severity} ${code} (threshold ${threshold})`)
    .join(' and ');
}
