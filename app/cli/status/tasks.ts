import { purgingTasks, sharedThresholds, taskIntervalSeconds } from '../../telemetry/thresholds.ts';
import type { Key, MaintenanceAnswer, Task } from './answers.ts';
import { look, runbook, well, type Finding } from './finding.ts';
import { durationOf, moment, secondsBetween } from './times.ts';

const { missedIntervals } = sharedThresholds;
const intervals: Readonly<Record<string, number>> = taskIntervalSeconds;

/**
 * Returns a finding for each maintenance task. A task that never succeeded is late once the vault
 * is as old as others may take; the vault is as old as its first signing key.
 */
export function findTasks(
  { tasks }: MaintenanceAnswer,
  keys: readonly Key[],
  now: Date,
): readonly Finding[] {
  const times = keys.map(({ registeredAt }) => registeredAt.getTime());
  const bornAt = times.length === 0 ? now : new Date(Math.min(...times));
  return tasks.map((task) => findTask(task, bornAt, now));
}

function findTask(state: Task, bornAt: Date, now: Date): Finding {
  const { task, lastRun, lastSuccess, running } = state;
  const name = `task ${task}`;
  const interval = intervals[task];
  const succeededAt = lastSuccess?.endedAt ?? lastSuccess?.startedAt;
  const last =
    succeededAt === undefined ? 'never succeeded' : `last success ${moment(succeededAt, now)}`;
  const rhythm = interval === undefined ? '' : `; interval ${durationOf(interval)}`;
  const present = running === null ? '' : `; running since ${moment(running.startedAt, now)}`;
  const text = `${last}${rhythm}${present}`;
  if (lastRun?.state === 'FAILED') {
    const error = lastRun.error ?? 'unknown';
    const failed = `the last run failed with ${error} ${moment(lastRun.startedAt, now)}`;
    return look(name, `${failed}; ${text}`, adviceFor(task, error));
  }
  const silence = secondsBetween(succeededAt ?? bornAt, now);
  if (interval === undefined || silence <= missedIntervals * interval) return well(name, text);
  return look(name, `late: ${text}`, adviceFor(task));
}

function adviceFor(task: string, error?: string): string {
  if (error === 'log_damaged') return runbook('LogBroken');
  return runbook(purgingTasks.has(task) ? 'PurgeStale' : 'MaintenanceStale');
}

/** Returns the finding that counts the jobs. No threshold is about them. */
export function findJobs({ jobs }: MaintenanceAnswer): Finding {
  const counts = Object.entries(jobs).map(([state, number]) => `${number} ${state}`);
  return well('jobs', counts.join(', '));
}
