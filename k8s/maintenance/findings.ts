import type { Finding } from '../conditions/set-conditions.ts';
import type { MaintenanceState } from '../vault/answers.ts';
import type { ObservedMaintenance } from './observed.ts';
import { overdueTasks } from './tasks.ts';

/** How long after its time a rotation of a signing key is overdue: a day. */
const keyGraceMs = 86_400_000;

/** The reasons of the conditions of a VaultMaintenance. */
export type Reason =
  | 'VaultUnavailable'
  | 'AllWell'
  | 'TaskFailed'
  | 'TaskOverdue'
  | 'DeadLetters'
  | 'BacklogLow'
  | 'BacklogHigh'
  | 'RotationsInTime'
  | 'RotationOverdue'
  | 'NeverVerified'
  | 'LogVerified'
  | 'LogDamaged'
  | 'VerificationIncomplete';

type Type = 'Healthy' | 'BacklogGrowing' | 'KeyOverdue' | 'VerificationFailed';
type Found = Finding<Type, Reason>;

/** The findings while no pod of the vault answers. */
export function unavailable(code: string): Found[] {
  const types: readonly Type[] = ['Healthy', 'BacklogGrowing', 'VerificationFailed'];
  return types.map((type) => ({
    type,
    status: 'Unknown',
    reason: 'VaultUnavailable',
    message: `No pod tells how maintenance fares: ${code}.`,
  }));
}

export function health(
  state: MaintenanceState,
  observed: ObservedMaintenance,
  others: readonly Found[],
): Found {
  const failed = state.tasks
    .filter(({ lastRun }) => lastRun?.state === 'FAILED')
    .map(({ task, lastRun }) => `${task} (${lastRun?.error ?? 'unknown'})`);
  const overdue = overdueTasks(state.tasks, observed);
  const bad = others.find(({ status }) => status === 'True');
  const found = (reason: Reason, message: string): Found => ({
    type: 'Healthy',
    status: reason === 'AllWell' ? 'True' : 'False',
    reason,
    message,
  });
  if (bad !== undefined) return found(bad.reason, bad.message);
  if (failed.length > 0) return found('TaskFailed', `Failed: ${failed.join(', ')}.`);
  if (overdue.length > 0) return found('TaskOverdue', `Without a success: ${overdue.join(', ')}.`);
  const above = observed.resource.spec.retryDeadLetters?.above ?? 0;
  const { pending } = state.deadLetters;
  if (pending > above) return found('DeadLetters', `${pending} dead letters wait.`);
  return found('AllWell', 'Every task ran in time and succeeded.');
}

export function backlog({ backlog: { unsigned } }: MaintenanceState, limit: number): Found {
  const isHigh = unsigned > limit;
  return {
    type: 'BacklogGrowing',
    status: isHigh ? 'True' : 'False',
    reason: isHigh ? 'BacklogHigh' : 'BacklogLow',
    message: isHigh
      ? `More than ${limit} audit entries wait for a signature.`
      : `At most ${limit} audit entries wait for a signature.`,
  };
}

export function keys({ signingKeys, now }: ObservedMaintenance): Found {
  const limit = now.getTime() - keyGraceMs;
  const overdue = signingKeys
    .filter(({ nextRotation }) => nextRotation !== undefined && Date.parse(nextRotation) < limit)
    .map(({ name }) => name);
  const isOverdue = overdue.length > 0;
  return {
    type: 'KeyOverdue',
    status: isOverdue ? 'True' : 'False',
    reason: isOverdue ? 'RotationOverdue' : 'RotationsInTime',
    message: isOverdue
      ? `Not rotated for a day after its time: ${overdue.join(', ')}.`
      : 'No rotation of a SigningKey is overdue by a day.',
  };
}

export function verification({ tasks }: MaintenanceState): Found {
  const type = 'VerificationFailed';
  const run = tasks.find(({ task }) => task === 'verify-log')?.lastRun;
  if (run === null || run === undefined) {
    const message = 'The log was never verified.';
    return { type, status: 'Unknown', reason: 'NeverVerified', message };
  }
  if (run.state === 'FAILED' && run.error === 'log_damaged') {
    const message = 'Entries of the log are damaged or missing.';
    return { type, status: 'True', reason: 'LogDamaged', message };
  }
  if (run.state === 'FAILED') {
    const message = `The last verification failed: ${run.error ?? 'unknown'}.`;
    return { type, status: 'True', reason: 'VerificationIncomplete', message };
  }
  const message = 'The last verification found no damage.';
  return { type, status: 'False', reason: 'LogVerified', message };
}
