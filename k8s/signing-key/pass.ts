import type { VaultPod, Workloads } from '../cluster/workloads.ts';
import type { Resources } from '../cluster/resources.ts';
import { follow, type Again, type PassOptions } from '../operating/follow.ts';
import type { SigningKey } from '../resources/signing-key.ts';
import type { VaultClient } from '../vault/client.ts';
import { isOk, type Failure } from '../vault/failure.ts';
import { askAny, originOf } from '../vault/pods.ts';
import { decide } from './decide.ts';
import type { RunKeygen } from './keygen-job.ts';
import type { FailedAction, ObservedSigningKey, SigningKeyAction } from './observed.ts';

interface SigningKeyPassOptions extends PassOptions {
  readonly resources: Pick<Resources, 'applyStatus' | 'listSigningKeys'>;
  readonly workloads: Pick<Workloads, 'listPods'>;
  readonly vault: VaultClient;
  /** Makes keys by Jobs; undefined if the app makes them. */
  readonly runKeygen?: RunKeygen | undefined;
  /** The port of the internal listener of each pod. */
  readonly internalPort: number;
  readonly clock: () => Date;
}

/**
 * Creates the function that brings all SigningKeys one step further: it observes, decides and
 * follows. Resolves with when to call it again.
 */
export function createSigningKeyPass(options: SigningKeyPassOptions) {
  const { resources, workloads, vault, runKeygen, internalPort: port, clock } = options;
  /** The actions that failed in the last pass, by the uid of their resource. */
  const failures = new Map<string, FailedAction>();

  async function carryOut(
    resource: SigningKey,
    pods: readonly VaultPod[],
    action: SigningKeyAction,
  ): Promise<void> {
    const failure = await findFailure(resource, pods, action);
    if (failure !== undefined) failures.set(resource.metadata.uid, { action, failure });
  }

  /** Carries out an action; resolves with why it is not done yet, or cannot be. */
  async function findFailure(
    { status }: SigningKey,
    pods: readonly VaultPod[],
    action: SigningKeyAction,
  ): Promise<Failure | undefined> {
    if (action.kind === 'create' && runKeygen !== undefined)
      return runKeygen(action, status?.failedAttempts ?? 0);
    const outcome = await askAny(pods, port, (origin) =>
      action.kind === 'create'
        ? vault.createKey(origin, action.purpose, action.generation)
        : vault.activateKey(origin, action.keyId),
    );
    return isOk(outcome) ? undefined : outcome.failure;
  }

  return async (): Promise<readonly Again[]> => {
    const found = await resources.listSigningKeys();
    if (found.length === 0) return [];
    const pods = await workloads.listPods();
    const [keys, replicas] = await Promise.all([
      askAny(pods, port, vault.listKeys),
      Promise.all(
        pods.map(async (pod) => ({
          name: pod.name,
          held: await vault.readHeldKeys(originOf(pod, port)),
        })),
      ),
    ]);
    const again: Again[] = [];
    for (const resource of found) {
      const { purpose } = resource.spec;
      const { uid } = resource.metadata;
      const observed: ObservedSigningKey = {
        now: clock(),
        resource,
        elder: findElder(resource, found),
        keys: isOk(keys) ? { ok: keys.ok.keys.filter((key) => key.purpose === purpose) } : keys,
        replicas,
        failed: failures.get(uid),
      };
      const act = (action: SigningKeyAction) => carryOut(resource, pods, action);
      failures.delete(uid);
      again.push(await follow(resource, decide(observed), act, options));
    }
    return again;
  };
}

/** Returns the name of the resource of the same purpose that was made first, if it is another. */
export function findElder(
  { metadata, spec }: SigningKey,
  all: readonly SigningKey[],
): string | undefined {
  const age = (one: SigningKey) => `${one.metadata.creationTimestamp} ${one.metadata.uid}`;
  const [eldest] = all
    .filter((one) => one.spec.purpose === spec.purpose)
    .toSorted((a, b) => (age(a) < age(b) ? -1 : 1));
  return eldest?.metadata.uid === metadata.uid ? undefined : eldest?.metadata.name;
}
