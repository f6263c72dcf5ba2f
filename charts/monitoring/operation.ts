import { exitCodes } from '../../signer/protocol/process/exit-codes.ts';
import {
  purgingTasks,
  sharedThresholds,
  taskIntervalSeconds,
} from '../../app/telemetry/thresholds.ts';
import type { TaskName } from '../../app/maintenance/schema.ts';
import { duration, type AlertingRule, type RuleGroup, type Scale } from './rule.ts';
import { ruleThresholds } from './thresholds.ts';

const { missedIntervals } = sharedThresholds;
const { refusedFeeds, readingAgeSeconds } = ruleThresholds;
type Task = (typeof TaskName.options)[number];
const intervals: Readonly<Record<Task, number>> = taskIntervalSeconds;

/** Returns the alerts about processes, maintenance tasks, the outbox and feeds. */
export function operationRules(scale: Scale): RuleGroup {
  return { name: 'probatio-operation', recording: [], alerting: alertsAt(scale) };
}

function alertsAt(scale: Scale): readonly AlertingRule[] {
  return [
    {
      alert: 'TargetAbsent',
      severity: 'critical',
      expr:
        'up{job=~".*probatio.*"} == 0 or absent(probatio_build_info) or ' +
        'absent(signer_sessions_max)',
      forSeconds: scale(300),
      summary: 'Prometheus cannot scrape the app or the signer.',
    },
    {
      alert: 'StartRefused',
      severity: 'critical',
      expr:
        'max by (namespace, pod, container) (' +
        'kube_pod_container_status_last_terminated_exitcode{pod=~".*probatio.*"}) ' +
        `== ${exitCodes.refused} unless on (namespace, pod, container) ` +
        'kube_pod_container_status_ready == 1',
      forSeconds: scale(60),
      summary: 'A start was refused, and will be until somebody mends the cause.',
    },
    {
      alert: 'ReadingsStale',
      severity: 'critical',
      expr:
        'time() - max by (namespace) (probatio_readings_timestamp_seconds) ' +
        `> ${scale(readingAgeSeconds)}`,
      forSeconds: scale(60),
      summary: 'No app can read metrics from the database, so other alerts are blind.',
    },
    {
      alert: 'OutboxParked',
      severity: 'warning',
      expr: 'max by (namespace, kind) (probatio_outbox_parked_messages) > 0',
      forSeconds: 0,
      summary: 'Side effects failed too often, and wait for drain-outbox.',
    },
    lateTasks(
      scale,
      'PurgeStale',
      true,
      'A task that removes what is over has not succeeded in time.',
    ),
    lateTasks(scale, 'MaintenanceStale', false, 'A maintenance task has not succeeded in time.'),
    {
      alert: 'FeedsFull',
      severity: 'warning',
      expr:
        'sum by (namespace) ' +
        '(increase(probatio_request_errors_total{code="too_many_feeds"}' +
        `[${duration(scale(900))}])) > ${refusedFeeds}`,
      forSeconds: scale(300),
      summary: 'Users cannot open event streams, since they have too many.',
    },
  ];
}

/**
 * Returns the rule of a kind of tasks. A task that has never succeeded has the time 0, and is late
 * once it has had that time for as long as others may take.
 */
function lateTasks(scale: Scale, alert: string, isPurge: boolean, summary: string): AlertingRule {
  const tasks = Object.entries(intervals).filter(([task]) => purgingTasks.has(task) === isPurge);
  const byInterval = Map.groupBy(tasks, ([, seconds]) => seconds);
  const late = [...byInterval].map(([seconds, each]) => {
    const limit = scale(missedIntervals * seconds);
    const names = each.map(([task]) => task).join('|');
    const series = `probatio_maintenance_last_success_timestamp_seconds{task=~"${names}"}`;
    const last = `max by (namespace, task) (${series})`;
    const before = `max by (namespace, task) (${series} offset ${duration(limit)})`;
    return `time() - (${last} > 0) > ${limit} or (${last} == 0 and ${before} == 0)`;
  });
  return { alert, severity: 'warning', expr: late.join(' or '), forSeconds: scale(60), summary };
}
