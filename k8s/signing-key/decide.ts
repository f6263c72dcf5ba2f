import type { Decision } from '../conditions/decision.ts';
import { eventsOf, setConditions, type EventNote } from '../conditions/set-conditions.ts';
import type { Condition } from '../resources/condition.ts';
import type { SigningKeyStatus } from '../resources/signing-key.ts';
import type { RegistryKey } from '../vault/answers.ts';
import { isOk } from '../vault/failure.ts';
import { activity, idle, lacking, readiness } from './findings.ts';
import type { ObservedSigningKey, SigningKeyAction } from './observed.ts';
import {
  begin,
  findSuccessor,
  nextRotationOf,
  noteFailure,
  settle,
  type Progress,
} from './plan.ts';

export type SigningKeyDecision = Decision<SigningKeyStatus, SigningKeyAction>;

/**
 * Decides about a SigningKey from what was observed. Pure: all knowledge that must survive this
 * process is in the status. An action is decided on only when the status that was read names it
 * already, so that a process that dies between the two repeats the same action.
 */
export function decide(observed: ObservedSigningKey): SigningKeyDecision {
  const { resource, elder, keys } = observed;
  if (elder !== undefined)
    return rest(observed, 'DuplicatePurpose', `${elder} has the purpose ${resource.spec.purpose}.`);
  if (!isOk(keys))
    return rest(observed, 'VaultUnavailable', `No pod tells the keys: ${keys.failure.code}.`);
  const active = keys.ok.find(({ state }) => state === 'ACTIVE');
  if (active === undefined)
    return rest(observed, 'NoActiveKey', `No key of the purpose ${resource.spec.purpose} signs.`);
  return proceed(observed, keys.ok, active);
}

function proceed(
  observed: ObservedSigningKey,
  keys: readonly RegistryKey[],
  active: RegistryKey,
): SigningKeyDecision {
  const { now, resource, replicas, failed } = observed;
  const before = progressOf(resource.status);
  const noted = failed === undefined ? before : noteFailure(before, failed, now);
  const settled = settle(noted, keys, active);
  const progress = begin(expire(settled, now), { resource, keys, active, now });
  const successor = findSuccessor(keys, active);
  const nextRotation = nextRotationOf(resource, active);
  const status: SigningKeyStatus = {
    observedGeneration: resource.metadata.generation,
    keyId: active.keyId,
    generation: active.generation,
    activeSince: active.activatedAt ?? undefined,
    nextRotation: nextRotation?.toISOString(),
    spareKeyId: successor?.keyId,
    ...progress,
    conditions: setConditions(
      resource.status?.conditions ?? [],
      [readiness(observed, active), activity({ progress, successor, replicas })],
      { generation: resource.metadata.generation, now },
    ),
  };
  const action = findAction({ observed, before, progress, successor });
  const due =
    progress.notBefore ?? (progress.rotation === undefined ? status.nextRotation : undefined);
  const wakeAt = due === undefined ? undefined : new Date(due);
  return { status, action, events: changesOf(resource.status, status), wakeAt };
}

interface Situation {
  readonly observed: ObservedSigningKey;
  /** The progress that the status had when it was read. */
  readonly before: Progress;
  readonly progress: Progress;
  readonly successor: RegistryKey | undefined;
}

function findAction({
  observed: { resource, replicas },
  before,
  progress: { creating, rotation, notBefore },
  successor,
}: Situation): SigningKeyAction | undefined {
  if (notBefore !== undefined) return undefined;
  if (creating !== undefined) {
    const isWritten = before.creating === creating;
    return isWritten
      ? { kind: 'create', purpose: resource.spec.purpose, generation: creating }
      : undefined;
  }
  if (rotation === undefined || successor?.isRecorded !== true) return undefined;
  const isWritten = before.rotation?.from === rotation.from;
  const isHeld = replicas.length > 0 && lacking(replicas, successor).length === 0;
  return isWritten && isHeld ? { kind: 'activate', keyId: successor.keyId } : undefined;
}

/** Returns a decision to do nothing, which keeps what was known of the keys. */
function rest(
  { resource, now }: ObservedSigningKey,
  ...[reason, message]: Parameters<typeof idle>
): SigningKeyDecision {
  const { generation } = resource.metadata;
  const conditions = setConditions(resource.status?.conditions ?? [], idle(reason, message), {
    generation,
    now,
  });
  const known = resource.status ?? progressOf(undefined);
  const status = { ...known, observedGeneration: generation, conditions };
  return {
    status,
    action: undefined,
    events: changesOf(resource.status, status),
    wakeAt: undefined,
  };
}

function progressOf(status: SigningKeyStatus | undefined): Progress {
  const { creating, rotation, answeredRequest, failedAttempts = 0 } = status ?? {};
  const { lastFailure, notBefore } = status ?? {};
  return { creating, rotation, answeredRequest, failedAttempts, lastFailure, notBefore };
}

/** Ends a wait that is over. */
function expire(progress: Progress, now: Date): Progress {
  const { notBefore } = progress;
  const isOver = notBefore !== undefined && Date.parse(notBefore) <= now.getTime();
  return isOver ? { ...progress, notBefore: undefined } : progress;
}

const bad = new Set([
  'NoActiveKey',
  'DuplicatePurpose',
  'VaultUnavailable',
  'KeyMissing',
  'StepFailed',
]);

function changesOf(before: SigningKeyStatus | undefined, after: SigningKeyStatus): EventNote[] {
  const isWarning = ({ reason }: Condition) => bad.has(reason);
  const events = eventsOf(before?.conditions ?? [], after.conditions, isWarning);
  const isRotated = before?.keyId !== undefined && before.keyId !== after.keyId;
  if (!isRotated) return events;
  const message = `Generation ${after.generation} signs in place of ${before.generation}.`;
  return [{ type: 'Normal', reason: 'Rotated', message }, ...events];
}
