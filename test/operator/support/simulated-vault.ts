import type { VaultClient } from '../../../k8s/vault/client.ts';
import type { RegistryKey } from '../../../k8s/vault/answers.ts';
import type { Outcome } from '../../../k8s/vault/failure.ts';
import type { VaultPod } from '../../../k8s/cluster/workloads.ts';
import { idOf, key } from './keys.ts';

export const publishSeconds = 310;

/** A fault of one request: it is refused, or never arrives, or its answer is lost. */
export type Fault = 'lost' | 'unheard' | 'signer_unavailable' | 'bad_response';

interface SimulatedPod extends VaultPod {
  readonly held: Set<string>;
}

/** Resolves with undefined for a request that is served in full. */
export type FaultOf = (request: string) => Fault | undefined;

export type SimulatedVault = ReturnType<typeof createSimulatedVault>;

/** Creates a vault: a registry, and pods whose tokens learn of new keys late. */
export function createSimulatedVault(clock: () => Date) {
  const keys: RegistryKey[] = [key(1, { state: 'ACTIVE', activatedAt: clock().toISOString() })];
  const registeredAt = new Map<string, number>();
  const pods: SimulatedPod[] = [];
  /** The names of the pods that do not answer. */
  const down = new Set<string>();
  /** Activations of a key that a token lacked: there must be none. */
  const violations: string[] = [];
  const requests: string[] = [];
  let faultOf: FaultOf = () => undefined;
  let rotations = 0;

  function addPod(): void {
    const number = pods.length + 1;
    const held = new Set(keys.map(({ keyId }) => keyId));
    pods.push({
      name: `pod-${number}`,
      address: `10.0.0.${number}`,
      isReady: true,
      held,
    });
  }

  async function serve<T>(
    origin: string,
    request: string,
    work: (pod: SimulatedPod) => Outcome<T>,
  ): Promise<Outcome<T>> {
    requests.push(request);
    const pod = pods.find(({ address }) => origin === `http://${address}:8081`);
    const fault = faultOf(request);
    if (pod === undefined || down.has(pod.name) || fault === 'unheard')
      return { failure: { code: 'unreachable' } };
    if (fault === 'signer_unavailable' || fault === 'bad_response')
      return { failure: { code: fault } };
    const outcome = work(pod);
    return fault === 'lost' ? { failure: { code: 'unreachable' } } : outcome;
  }

  function create(pod: SimulatedPod, generation: number): Outcome<RegistryKey> {
    const known = keys.find((one) => one.generation === generation);
    if (known !== undefined) return { ok: known };
    if (generation !== keys.length + 1) return { failure: { code: 'key_generation_differs' } };
    const made = key(generation, { isRecorded: false });
    keys.push(made);
    registeredAt.set(made.keyId, clock().getTime());
    pod.held.add(made.keyId);
    return { ok: made };
  }

  function activate(pod: SimulatedPod, keyId: string): Outcome<RegistryKey> {
    const index = keys.findIndex((one) => one.keyId === keyId);
    const found = keys[index];
    if (found === undefined) return { failure: { code: 'not_found' } };
    if (found.state === 'ACTIVE') return { ok: found };
    if (found.state !== 'CREATED') return { failure: { code: 'key_retired' } };
    if (!pod.held.has(keyId)) return { failure: { code: 'key_not_in_token' } };
    const age = (clock().getTime() - (registeredAt.get(keyId) ?? 0)) / 1_000;
    const left = Math.ceil(publishSeconds - age);
    if (!found.isRecorded || left > 0)
      return { failure: { code: 'key_not_published', retryAfterSeconds: Math.max(left, 1) } };
    for (const { name, held } of pods) if (!held.has(keyId)) violations.push(`${name} ${keyId}`);
    const before = keys.findIndex(({ state }) => state === 'ACTIVE');
    const at = clock().toISOString();
    keys[before] = { ...(keys[before] ?? found), state: 'RETIRED' };
    keys[index] = { ...found, state: 'ACTIVE', activatedAt: at };
    rotations += 1;
    return { ok: keys[index] };
  }

  const vault: Pick<VaultClient, 'listKeys' | 'readHeldKeys' | 'createKey' | 'activateKey'> = {
    listKeys: (origin) => serve(origin, 'list', () => ({ ok: { keys: [...keys] } })),
    readHeldKeys: (origin) =>
      serve(origin, 'held', ({ held }) => ({ ok: { tokenState: 'ready', keyIds: [...held] } })),
    createKey: (origin, _purpose, generation) =>
      serve(origin, 'create', (pod) => create(pod, generation)),
    activateKey: (origin, keyId) => serve(origin, 'activate', (pod) => activate(pod, keyId)),
  };

  return {
    vault: vault as VaultClient,
    keys,
    pods,
    down,
    violations,
    requests,
    addPod,
    get rotations() {
      return rotations;
    },
    failWith(next: FaultOf) {
      faultOf = next;
    },
    /** Signs the records of all keys. */
    seal() {
      for (const [index, one] of keys.entries()) keys[index] = { ...one, isRecorded: true };
    },
    /** Lets all keys have been published for long enough. */
    publish: () => registeredAt.clear(),
    /** Lets the token of a pod learn of all keys. */
    replicate({ held }: SimulatedPod) {
      for (const { generation } of keys) held.add(idOf(generation));
    },
    active: () => keys.filter(({ state }) => state === 'ACTIVE'),
    /** The keys that could sign next. */
    spares: () => keys.filter(({ state }) => state === 'CREATED'),
  };
}
