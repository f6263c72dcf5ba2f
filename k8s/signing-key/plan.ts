import { rotateNowAnnotation } from '../resources/group.ts';
import { parseDuration } from '../resources/duration.ts';
import type { SigningKey, SigningKeyStatus } from '../resources/signing-key.ts';
import type { RegistryKey } from '../vault/answers.ts';
import type { FailedAction } from './observed.ts';

const minBackOffMs = 5_000;
const maxBackOffMs = 300_000;

/** The part of a status that carries the work from one pass to the next. */
export type Progress = Pick<
  SigningKeyStatus,
  'creating' | 'rotation' | 'answeredRequest' | 'failedAttempts' | 'lastFailure' | 'notBefore'
>;

/** Returns the text of the annotation that asks for a rotation, unless that rotation is done. */
function findRequest({ metadata }: SigningKey, { answeredRequest }: Progress): string | undefined {
  const text = metadata.annotations[rotateNowAnnotation];
  return text === '' || text === answeredRequest ? undefined : text;
}

/** Returns when the successor of the active key is due; undefined if on demand only. */
export function nextRotationOf({ spec }: SigningKey, active: RegistryKey): Date | undefined {
  if (spec.rotateEvery === undefined || active.activatedAt === null) return undefined;
  return new Date(Date.parse(active.activatedAt) + parseDuration(spec.rotateEvery));
}

/**
 * Returns the key that would sign next: the oldest that was created after the active one. A key
 * that was imported is never taken, since others may have it.
 */
export function findSuccessor(
  keys: readonly RegistryKey[],
  active: RegistryKey,
): RegistryKey | undefined {
  return keys
    .filter((key) => key.state === 'CREATED' && !key.imported)
    .filter((key) => key.generation > active.generation)
    .toSorted((a, b) => a.generation - b.generation)[0];
}

/** Notes what is reached since the last pass: a key that was made, a rotation that is over. */
export function settle(
  progress: Progress,
  keys: readonly RegistryKey[],
  active: RegistryKey,
): Progress {
  const { creating, rotation } = progress;
  const isMade = keys.some(({ generation }) => generation === creating);
  const isRotated = rotation !== undefined && rotation.from !== active.keyId;
  if (!isMade && !isRotated) return progress;
  return {
    ...progress,
    creating: isMade ? undefined : creating,
    rotation: isRotated ? undefined : rotation,
    answeredRequest: isRotated
      ? (rotation.request ?? progress.answeredRequest)
      : progress.answeredRequest,
    failedAttempts: 0,
    lastFailure: undefined,
    notBefore: undefined,
  };
}

/** Begins a rotation if one is asked for or due, and notes the generation of a key to be made. */
export function begin(
  progress: Progress,
  {
    resource,
    keys,
    active,
    now,
  }: {
    readonly resource: SigningKey;
    readonly keys: readonly RegistryKey[];
    readonly active: RegistryKey;
    readonly now: Date;
  },
): Progress {
  const request = findRequest(resource, progress);
  const nextRotation = nextRotationOf(resource, active);
  const isDue = request !== undefined || (nextRotation !== undefined && nextRotation <= now);
  const begun = { from: active.keyId, startedAt: now.toISOString(), request };
  const rotation = progress.rotation ?? (isDue ? begun : undefined);
  const isWanted = rotation !== undefined || resource.spec.keepSpare;
  const isMissing = isWanted && findSuccessor(keys, active) === undefined;
  const highest = Math.max(...keys.map(({ generation }) => generation));
  const creating = isMissing ? (progress.creating ?? highest + 1) : undefined;
  return { ...progress, rotation, creating };
}

/**
 * Notes a failure: the step is tried again after Retry-After, or after a time that doubles. A
 * generation that can no longer be made gives way to the next number.
 */
export function noteFailure(
  progress: Progress,
  { action, failure }: FailedAction,
  now: Date,
): Progress {
  const { code, retryAfterSeconds } = failure;
  if (code === 'key_generation_differs' && action.kind === 'create') {
    if (action.generation === progress.creating)
      return { ...progress, creating: action.generation + 1 };
  }
  const { failedAttempts, lastFailure } = countFailure(progress, code);
  const backOffMs = Math.min(minBackOffMs * 2 ** Math.min(failedAttempts, 10), maxBackOffMs);
  const waitMs = retryAfterSeconds === undefined ? backOffMs : 1_000 * retryAfterSeconds;
  const notBefore = new Date(now.getTime() + waitMs).toISOString();
  return { ...progress, failedAttempts, lastFailure, notBefore };
}

/** Counts a failure, unless the step only needs time. */
function countFailure(
  progress: Progress,
  code: string,
): Pick<Progress, 'failedAttempts' | 'lastFailure'> {
  // The key is there, so that what failed before is over.
  if (code === 'key_not_published') return { failedAttempts: 0, lastFailure: undefined };
  // The name of the Job that runs is made of the attempts before it.
  if (code === 'keygen_running') return progress;
  return { failedAttempts: progress.failedAttempts + 1, lastFailure: code };
}
