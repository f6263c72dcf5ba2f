import type { Finding } from '../conditions/set-conditions.ts';
import type { RegistryKey } from '../vault/answers.ts';
import { isOk } from '../vault/failure.ts';
import type { Progress } from './plan.ts';
import type { ObservedSigningKey, Replica } from './observed.ts';

/** The reasons of the conditions of a SigningKey. */
export type Reason =
  | 'ActiveKeyHeld'
  | 'NoActiveKey'
  | 'DuplicatePurpose'
  | 'VaultUnavailable'
  | 'ReplicaUnavailable'
  | 'KeyMissing'
  | 'Idle'
  | 'CreatingKey'
  | 'RecordUnsigned'
  | 'WaitingForReplicas'
  | 'Publishing'
  | 'Activating'
  | 'StepFailed';

type Found = Finding<'Ready' | 'Rotating', Reason>;

/** Returns the names of the replicas whose tokens are not known to hold a key. */
export function lacking(replicas: readonly Replica[], { keyId }: RegistryKey): readonly string[] {
  return replicas
    .filter(({ held }) => !isOk(held) || held.ok.keyIds?.includes(keyId) !== true)
    .map(({ name }) => name);
}

/** The findings about a resource that cannot act. */
export function idle(reason: Reason, message: string): Found[] {
  const status = reason === 'VaultUnavailable' ? 'Unknown' : 'False';
  return [
    { type: 'Ready', status, reason, message },
    { type: 'Rotating', status, reason, message },
  ];
}

/** Says whether the active key is in every token. */
export function readiness({ replicas }: ObservedSigningKey, active: RegistryKey): Found {
  const unknown = replicas.filter(({ held }) => !isOk(held) || held.ok.keyIds === null);
  const without = lacking(
    replicas.filter((replica) => !unknown.includes(replica)),
    active,
  );
  if (without.length > 0) {
    const message = `The tokens of ${without.join(', ')} lack the active key.`;
    return { type: 'Ready', status: 'False', reason: 'KeyMissing', message };
  }
  if (unknown.length > 0 || replicas.length === 0) {
    const names = namesOf(unknown.map(({ name }) => name));
    const message = `It is not known what the token of ${names} holds.`;
    return { type: 'Ready', status: 'Unknown', reason: 'ReplicaUnavailable', message };
  }
  const message = `Every token holds the active key, generation ${active.generation}.`;
  return { type: 'Ready', status: 'True', reason: 'ActiveKeyHeld', message };
}

function namesOf(pods: readonly string[]): string {
  return pods.length === 0 ? 'any pod' : pods.join(', ');
}

interface Step {
  readonly progress: Progress;
  readonly successor: RegistryKey | undefined;
  readonly replicas: readonly Replica[];
}

/** Says what the resource is doing now, or waits for. */
export function activity({ progress, successor, replicas }: Step): Found {
  const status = progress.rotation === undefined ? 'False' : 'True';
  const found = (reason: Reason, message: string): Found => ({
    type: 'Rotating',
    status,
    reason,
    message,
  });
  const { failedAttempts, lastFailure, creating, rotation } = progress;
  if (failedAttempts > 0)
    return found('StepFailed', `Failed ${failedAttempts} times, with ${lastFailure} at last.`);
  if (creating !== undefined) return found('CreatingKey', `Generation ${creating} is being made.`);
  if (rotation === undefined || successor === undefined)
    return found('Idle', 'No rotation is under way.');
  const next = `generation ${successor.generation}`;
  if (!successor.isRecorded) return found('RecordUnsigned', `The record of ${next} is not signed.`);
  const without = lacking(replicas, successor);
  if (without.length > 0 || replicas.length === 0)
    return found('WaitingForReplicas', `The token of ${namesOf(without)} must hold ${next}.`);
  return progress.notBefore === undefined
    ? found('Activating', `Activates ${next}.`)
    : found('Publishing', `Publishes ${next} until ${progress.notBefore}.`);
}
