import { pino } from 'pino';
import type { EventNote } from '../../../k8s/conditions/set-conditions.ts';
import { SigningKey } from '../../../k8s/resources/signing-key.ts';
import type { RunKeygen } from '../../../k8s/signing-key/keygen-job.ts';
import { createSigningKeyPass } from '../../../k8s/signing-key/pass.ts';
import { signingKey, start } from './keys.ts';
import { createSimulatedVault } from './simulated-vault.ts';

/** Thrown where a process is killed. */
export class Killed extends Error {}

type Seam = 'status' | 'create' | 'activate';

/**
 * Creates an API server with one SigningKey, a vault, and the passes of an operator over them.
 * With `runKeygen`, Jobs make the keys.
 */
export function createSimulation(spec: Partial<SigningKey['spec']> = {}, runKeygen?: RunKeygen) {
  let now = start;
  let version = 1;
  let resource = signingKey({ spec });
  let leads = true;
  /** Called after each change: it may throw Killed. */
  let seam: (changed: Seam) => void = () => undefined;
  const events: EventNote[] = [];
  const clock = () => now;
  const simulated = createSimulatedVault(clock);
  simulated.addPod();
  simulated.addPod();
  const { vault } = simulated;

  const resources = {
    listSigningKeys: async () => [SigningKey.parse(JSON.parse(JSON.stringify(resource)))],
    async applyStatus(
      { metadata }: { readonly metadata: SigningKey['metadata'] },
      status: unknown,
    ) {
      if (metadata.resourceVersion !== String(version)) return false;
      change({ status: JSON.parse(JSON.stringify(status)) as SigningKey['status'] });
      seam('status');
      return true;
    },
  };

  function change(more: Partial<SigningKey>): void {
    version += 1;
    const metadata = { ...resource.metadata, ...more.metadata, resourceVersion: String(version) };
    resource = { ...resource, ...more, metadata };
  }

  const killing = {
    ...vault,
    async createKey(...args: Parameters<typeof vault.createKey>) {
      const outcome = await vault.createKey(...args);
      seam('create');
      return outcome;
    },
    async activateKey(...args: Parameters<typeof vault.activateKey>) {
      const outcome = await vault.activateKey(...args);
      seam('activate');
      return outcome;
    },
  };

  return {
    ...simulated,
    events,
    resource: () => resource,
    status: () => resource.status,
    get rotations() {
      return simulated.rotations;
    },
    advance(seconds: number) {
      now = new Date(now.getTime() + 1_000 * seconds);
    },
    annotate(text: string) {
      const annotations = { 'probatio.dev/rotate-now': text };
      change({ metadata: { ...resource.metadata, annotations } });
    },
    setSpec(spec: Partial<SigningKey['spec']>) {
      change({ spec: { ...resource.spec, ...spec } });
    },
    lead(next: boolean) {
      leads = next;
    },
    onChange(next: typeof seam) {
      seam = next;
    },
    /** Starts a process of the operator, which remembers nothing. */
    startOperator: () =>
      createSigningKeyPass({
        resources,
        workloads: { listPods: async () => simulated.pods },
        vault: killing,
        runKeygen,
        recordEvent: async (_resource, note) => void events.push(note),
        isLeader: () => leads,
        internalPort: 8081,
        clock,
        log: pino({ enabled: false }),
      }),
  };
}

export type Simulation = ReturnType<typeof createSimulation>;

/** Makes passes, with time for publication, until nothing changes any more. */
export async function settle(
  simulation: Simulation,
  operator = simulation.startOperator(),
): Promise<void> {
  for (let round = 0, quiet = 0; quiet < 4; round += 1) {
    if (round > 200) throw new Error(`not settled: ${JSON.stringify(simulation.status())}`);
    const { resourceVersion } = simulation.resource().metadata;
    await operator();
    simulation.seal();
    for (const pod of simulation.pods) simulation.replicate(pod);
    simulation.advance(120);
    quiet = simulation.resource().metadata.resourceVersion === resourceVersion ? quiet + 1 : 0;
  }
}
