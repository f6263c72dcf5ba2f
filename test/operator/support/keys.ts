import type { SigningKey, SigningKeyStatus } from '../../../k8s/resources/signing-key.ts';
import type { ObservedSigningKey } from '../../../k8s/signing-key/observed.ts';
import type { RegistryKey } from '../../../k8s/vault/answers.ts';

export const start = new Date('2026-11-26T10:00:00.000Z');

/** Returns the time that many seconds after `start`. */
export const after = (seconds: number) => new Date(start.getTime() + 1_000 * seconds);

/** Returns the id of a key of a test by its generation. */
export const idOf = (generation: number) => generation.toString(16).padStart(32, '0');

export function key(generation: number, more: Partial<RegistryKey> = {}): RegistryKey {
  const state = more.state ?? 'CREATED';
  return {
    keyId: idOf(generation),
    purpose: 'audit',
    generation,
    imported: false,
    state,
    activatedAt: state === 'CREATED' ? null : start.toISOString(),
    isRecorded: true,
    ...more,
  };
}

export function signingKey({
  spec = {},
  status,
  request,
  ...metadata
}: {
  readonly spec?: Partial<SigningKey['spec']>;
  readonly status?: Partial<SigningKeyStatus>;
  /** The text of the annotation that asks for a rotation. */
  readonly request?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly creationTimestamp?: string;
} = {}): SigningKey {
  return {
    apiVersion: 'probatio.dev/v1alpha1',
    kind: 'SigningKey',
    metadata: {
      name: 'audit',
      namespace: 'vault',
      uid: 'u1',
      generation: 1,
      resourceVersion: '1',
      creationTimestamp: start.toISOString(),
      annotations: request === undefined ? {} : { 'probatio.dev/rotate-now': request },
      ...metadata,
    },
    spec: { purpose: 'audit', keepSpare: false, ...spec },
    ...(status === undefined
      ? {}
      : { status: { observedGeneration: 1, failedAttempts: 0, conditions: [], ...status } }),
  };
}

/** A token that holds these generations, or why nobody knows. */
export type TokenOf = readonly number[] | 'unreachable' | 'unreadable';

export function replica(name: string, token: TokenOf): ObservedSigningKey['replicas'][number] {
  if (token === 'unreachable') return { name, held: { failure: { code: 'unreachable' } } };
  if (token === 'unreadable')
    return { name, held: { ok: { tokenState: 'unavailable', keyIds: null } } };
  return { name, held: { ok: { tokenState: 'ready', keyIds: token.map(idOf) } } };
}
