import { setTimeout as delay } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { defaultRetry } from '../../client/http/retry.ts';
import { createAccount, logIn } from '../faults/vault/user.ts';
import {
  createClusterVault,
  fullname,
  type ClusterVault,
} from '../support/cluster/cluster-vault.ts';
import { killContainer, killKubelet, statusOf } from '../support/cluster/kill.ts';
import { evict, list } from '../support/cluster/kubectl.ts';
import { rounds, seed, seededRandom } from '../support/runs/rounds.ts';
import { assertWhole } from './checks.ts';
import { failuresOf, reconnecting, startClusterLoad, untilMoreSucceed } from './loads.ts';

const test = anyTest.serial as TestFn<{ vault: ClusterVault }>;
/** Values with the images of the release before, if the clone has its commit. */
const previous =
  process.env['CLUSTER_HAS_PREVIOUS'] === 'true'
    ? ['image.tag="previous"', 'signer.image.tag="previous"']
    : [];
const retry = { ...defaultRetry, attempts: 1 };

test.before(async (t) => {
  t.timeout(600_000);
  t.context = { vault: await createClusterVault() };
  await t.context.vault.install(['replicaCount=2', ...previous]);
});
test.after.always((t) => t.context.vault?.[Symbol.asyncDispose]());

test('no request fails while the release, a value, the pods and their number change', async (t) => {
  t.timeout(600_000);
  t.log(`SEED=${seed}`);
  const { vault } = t.context;
  const loads = await Promise.all(
    [{ retry }, { retry, fetch: reconnecting }].map(async (options) => {
      const user = await logIn(vault, await createAccount(vault), options);
      return startClusterLoad(vault, user, seededRandom(seed));
    }),
  );
  const during = async (what: string, change: () => Promise<unknown>) => {
    await change();
    await untilMoreSucceed(...loads);
    t.deepEqual(failuresOf(...loads), [], what);
  };
  try {
    await untilMoreSucceed(...loads);
    await during('the release changes', () => vault.install(['replicaCount=2']));
    const changed = 'http.drainSeconds=20';
    await during('a value changes', () => vault.install(['replicaCount=2', changed]));
    for (const pod of await podsOf(vault))
      await during(`${pod} is evicted`, () => replace(vault, pod));
    await during('scaling up', () => vault.install(['replicaCount=4', changed]));
    await during('scaling down', () => vault.install(['replicaCount=2', changed]));
    await during('back', async () => vault.helm('rollback', 'vault', '1', '--wait'));
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
  }
  t.deepEqual(failuresOf(...loads), []);
  for (const { report } of loads) t.log(JSON.stringify(report.succeeded));
  await assertWhole(t, vault);
});

test('whatever is killed, each entry is sealed once', async (t) => {
  t.timeout(120_000 + rounds * 240_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const { vault } = t.context;
  const random = seededRandom(seed);
  await vault.install(['replicaCount=2']);
  const user = await logIn(vault, await createAccount(vault), { retry });
  const load = startClusterLoad(vault, user, random);
  const strike = async (kill: () => Promise<void>) => {
    await untilMoreSucceed(load);
    await delay(random() * 2_000);
    await kill();
  };
  try {
    for (let round = 1; round <= rounds; round += 1) {
      const [first = '', second = ''] = await podsOf(vault);
      await strike(killKubelet);
      await strike(() => restart(vault, first, 'signer'));
      await strike(() => restart(vault, second, 'app'));
    }
    await untilMoreSucceed(load);
  } finally {
    await load.stop();
  }
  // Requests of what was killed may fail.
  t.log(JSON.stringify(load.report.succeeded), failuresOf(load));
  await assertWhole(t, vault);
});

test('the autoscaler adds a pod under load, and takes it away after it', async (t) => {
  t.timeout(600_000);
  t.log(`SEED=${seed}`);
  const { vault } = t.context;
  const fast = { stabilizationWindowSeconds: 0 };
  const autoscaling = {
    enabled: true,
    minReplicas: 2,
    maxReplicas: 3,
    targetCPUUtilizationPercentage: 80,
    behavior: { scaleUp: fast, scaleDown: fast },
  };
  await vault.install([`autoscaling=${JSON.stringify(autoscaling)}`]);
  const untilReplicas = (count: number) =>
    until(async () => (await readyReplicas(vault)) === count, {
      what: `${count} pods`,
      timeoutMs: 180_000,
      intervalMs: 1_000,
    });
  await untilReplicas(2);
  const loads = await Promise.all(
    Array.from({ length: 2 }, async () => {
      const user = await logIn(vault, await createAccount(vault), { retry });
      return startClusterLoad(vault, user, seededRandom(seed));
    }),
  );
  try {
    await untilReplicas(3);
    await untilMoreSucceed(...loads);
  } finally {
    await Promise.all(loads.map((load) => load.stop()));
  }
  await untilReplicas(2);
  t.deepEqual(failuresOf(...loads), []);
  const events = await vault.kubectl('get', 'events', '--field-selector=reason=SuccessfulRescale');
  t.log(events);
  await assertWhole(t, vault);
});

/** Resolves with the number of ready pods, once no other is starting or ending. */
async function readyReplicas({ kubectl }: ClusterVault): Promise<number | undefined> {
  const json = await kubectl('get', 'deployment', fullname, '--output=json');
  const { spec, status } = JSON.parse(json) as {
    readonly spec: { readonly replicas: number };
    readonly status: { readonly replicas?: number; readonly readyReplicas?: number };
  };
  const isSettled = status.replicas === spec.replicas && status.readyReplicas === spec.replicas;
  return isSettled ? spec.replicas : undefined;
}

async function podsOf({ kubectl }: ClusterVault): Promise<readonly string[]> {
  const pods = await list(kubectl, 'pods', 'app.kubernetes.io/component=api');
  return pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata }) => String(metadata.name));
}

/** Evicts a pod, and waits until another one is ready in its place. */
async function replace({ namespace, kubectl }: ClusterVault, name: string): Promise<void> {
  await evict(namespace, name);
  await kubectl('wait', '--for=delete', `pod/${name}`, '--timeout=90s');
  await kubectl('rollout', 'status', `deployment/${fullname}`, '--timeout=120s');
}

/** Kills a container of a pod, and waits until it runs again and the pod is ready. */
async function restart({ kubectl }: ClusterVault, pod: string, container: string): Promise<void> {
  const restarts = async () => (await statusOf(kubectl, pod, container)).restartCount;
  const before = await restarts();
  await killContainer(kubectl, pod, container);
  await until(async () => (await restarts()) > before, {
    what: `a new ${container}`,
    timeoutMs: 120_000,
    intervalMs: 500,
  });
  await kubectl('wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=120s');
}
