import type { Decision } from '../conditions/decision.ts';
import { eventsOf, setConditions, type Finding } from '../conditions/set-conditions.ts';
import type { Condition } from '../resources/condition.ts';
import type { VaultMaintenanceStatus } from '../resources/vault-maintenance.ts';
import type { MaintenanceState } from '../vault/answers.ts';
import { isOk } from '../vault/failure.ts';
import { backlog, health, keys, unavailable, verification } from './findings.ts';
import type { MaintenanceAction, ObservedMaintenance, TaskSchedule } from './observed.ts';
import { statusOfTasks } from './tasks.ts';

const minuteMs = 60_000;

export type MaintenanceDecision = Decision<VaultMaintenanceStatus, MaintenanceAction>;

/**
 * Decides about a VaultMaintenance from what was observed. Pure. The time of a Job that retries
 * dead letters is written into the status first, and the name of the Job is made from it, so that a
 * process that dies between the two makes the same Job, and none twice.
 */
export function decide(observed: ObservedMaintenance): MaintenanceDecision {
  const { now, resource, vault } = observed;
  const before = resource.status;
  const found = keys(observed);
  if (!isOk(vault)) {
    const findings = [...unavailable(vault.failure.code), found];
    const known = before ?? { tasks: [] };
    return decided(observed, { ...known, ...judged(observed, findings) }, undefined);
  }
  const others = [backlog(vault.ok, resource.spec.backlogAbove), found, verification(vault.ok)];
  const findings = [health(vault.ok, observed, others), ...others];
  const retry = findRetry(observed, vault.ok);
  const status = {
    tasks: statusOfTasks(vault.ok.tasks, observed.schedules, now),
    backlog: vault.ok.backlog.unsigned,
    backlogOldest: vault.ok.backlog.oldestAt ?? undefined,
    deadLetters: vault.ok.deadLetters.pending,
    deadLettersOldest: vault.ok.deadLetters.oldestAt ?? undefined,
    lastVerification: vault.ok.tasks.find(({ task }) => task === 'verify-log')?.lastSuccess
      ?.startedAt,
    lastRetry: retry.lastRetry,
    ...judged(observed, findings),
  };
  return decided(observed, status, retry.action);
}

function judged({ now, resource }: ObservedMaintenance, findings: readonly Finding[]) {
  const { generation } = resource.metadata;
  return {
    observedGeneration: generation,
    conditions: setConditions(resource.status?.conditions ?? [], findings, { generation, now }),
  };
}

function decided(
  { resource }: ObservedMaintenance,
  status: VaultMaintenanceStatus,
  action: MaintenanceAction | undefined,
): MaintenanceDecision {
  const isWarning = ({ type, status: value }: Condition) =>
    value === 'Unknown' || (value === 'True') !== (type === 'Healthy');
  const events = eventsOf(resource.status?.conditions ?? [], status.conditions, isWarning);
  return { status, action, events, wakeAt: undefined };
}

interface Retry {
  readonly lastRetry: string | undefined;
  readonly action?: MaintenanceAction;
}

/** Decides whether dead letters are retried now, at most once in `everyMinutes`. */
function findRetry(
  { now, resource, schedules, jobs }: ObservedMaintenance,
  { deadLetters }: MaintenanceState,
): Retry {
  const lastRetry = resource.status?.lastRetry;
  const options = resource.spec.retryDeadLetters;
  const cronJob = schedules.find(({ task }) => task === 'retry-dlq');
  if (options === undefined || cronJob === undefined) return { lastRetry };
  const isRecent =
    lastRetry !== undefined &&
    now.getTime() - Date.parse(lastRetry) < options.everyMinutes * minuteMs;
  if (isRecent) {
    const job = nameOf(cronJob, lastRetry);
    return jobs.has(job)
      ? { lastRetry }
      : { lastRetry, action: { kind: 'run', cronJob: cronJob.name, job } };
  }
  return { lastRetry: deadLetters.pending > options.above ? now.toISOString() : lastRetry };
}

/** Returns the name of a Job: at most 63 characters, as a CronJob's has at most 52. */
function nameOf({ name }: TaskSchedule, lastRetry: string): string {
  return `${name}-${Math.floor(Date.parse(lastRetry) / 1_000).toString(36)}`;
}
