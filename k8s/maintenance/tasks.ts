import { Cron } from 'croner';
import { parseDuration } from '../resources/duration.ts';
import type { VaultMaintenanceStatus } from '../resources/vault-maintenance.ts';
import type { MaintenanceState } from '../vault/answers.ts';
import type { ObservedMaintenance, TaskSchedule } from './observed.ts';

type TaskState = MaintenanceState['tasks'][number];
type TaskStatus = VaultMaintenanceStatus['tasks'][number];

/** The time of what never happened. */
const never = new Date(0).toISOString();

/** Returns the status of each task that the vault knows. */
export function statusOfTasks(
  tasks: readonly TaskState[],
  schedules: readonly TaskSchedule[],
  now: Date,
): TaskStatus[] {
  return tasks.map(({ task, lastRun, lastSuccess }) => ({
    task,
    lastRun: lastRun?.startedAt,
    result: lastRun === null ? undefined : resultOf(lastRun),
    lastSuccess: lastSuccess?.startedAt,
    nextRun: nextRunOf(
      schedules.find((schedule) => schedule.task === task),
      now,
    ),
  }));
}

/** Returns the scheduled tasks whose last success is too long ago, or who never had one. */
export function overdueTasks(
  tasks: readonly TaskState[],
  { resource, schedules, now }: Pick<ObservedMaintenance, 'resource' | 'schedules' | 'now'>,
): readonly string[] {
  const limit = now.getTime() - parseDuration(resource.spec.overdueAfter);
  return schedules
    .filter(({ task, isSuspended, createdAt }) => {
      const state = tasks.find((one) => one.task === task);
      const success = Date.parse(state?.lastSuccess?.startedAt ?? never);
      return !isSuspended && Math.max(success, createdAt.getTime()) < limit;
    })
    .map(({ task }) => task);
}

function resultOf({ state, error }: NonNullable<TaskState['lastRun']>): string {
  return error === null ? state : `${state} ${error}`;
}

/** Returns when a CronJob runs next; undefined without one, or if its schedule cannot be read. */
function nextRunOf(schedule: TaskSchedule | undefined, now: Date): string | undefined {
  if (schedule === undefined || schedule.isSuspended) return undefined;
  try {
    // A CronJob without a time zone runs by the clock of its controller, which is UTC as a rule.
    const cron = new Cron(schedule.schedule, { timezone: schedule.timeZone ?? 'Etc/UTC' });
    return cron.nextRun(now)?.toISOString();
  } catch {
    return undefined;
  }
}
