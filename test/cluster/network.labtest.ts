import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { createClusterVault, type ClusterVault } from '../support/cluster/cluster-vault.ts';
import { apply, list, type Kubectl } from '../support/cluster/kubectl.ts';
import { confinedPod } from '../support/cluster/objects.ts';

const test = anyTest.serial as TestFn<{ vault: ClusterVault }>;

const pods = (matchLabels: Record<string, string>) => ({ podSelector: { matchLabels } });
/** Lets pods connect to the backends alone, and lets a role in on each listener. */
const policies = JSON.stringify({
  enabled: true,
  apiFrom: [pods({ role: 'ingress' })],
  internalFrom: [pods({ role: 'operator' })],
  metricsFrom: [pods({ role: 'monitoring' })],
  egress: [
    { to: [{ podSelector: { matchExpressions: [{ key: 'backend', operator: 'Exists' }] } }] },
  ],
});
const ofRelease = (component: string) => ({
  'app.kubernetes.io/name': 'probatio',
  'app.kubernetes.io/instance': 'vault',
  'app.kubernetes.io/component': component,
});

/** Pods that try to connect: their labels, and where they get through. */
const tried: Readonly<Record<string, readonly [Record<string, string>, readonly string[]]>> = {
  ingress: [{ role: 'ingress' }, ['api 8080', 'postgres 5432', 'stranger 9999']],
  operator: [{ role: 'operator' }, ['api 8081', 'postgres 5432', 'stranger 9999']],
  monitoring: [{ role: 'monitoring' }, ['api 9090', 'api 9091', 'postgres 5432', 'stranger 9999']],
  stranger: [{ role: 'stranger' }, ['postgres 5432', 'stranger 9999']],
  maintenance: [ofRelease('maintenance'), ['api 8081', 'postgres 5432']],
  test: [ofRelease('test'), ['api 8080', 'postgres 5432', 'stranger 9999']],
  migrate: [ofRelease('migrate'), ['postgres 5432']],
};

test.before(async (t) => {
  t.timeout(600_000);
  t.context = { vault: await createClusterVault() };
  await t.context.vault.install([`networkPolicy=${policies}`]);
});
test.after.always((t) => t.context.vault?.[Symbol.asyncDispose]());

test('what is let through is what the policies say', async (t) => {
  t.timeout(240_000);
  const { namespace, kubectl } = t.context.vault;
  await apply(
    namespace,
    Object.entries(tried).map(([name, [labels]]) => probe(name, labels)),
  );
  await kubectl('wait', '--for=condition=Ready', 'pods', '--selector=probe', '--timeout=120s');
  const targets = await findTargets(kubectl);
  const expected = Object.fromEntries(
    Object.entries({ ...tried, api: [{}, ['postgres 5432']] as const }).map(([name, [, open]]) => [
      name,
      [...open],
    ]),
  );
  const see = async () => {
    const seen: Record<string, string[]> = {};
    for (const name of Object.keys(tried)) seen[name] = await reach(kubectl, name, targets);
    const others = targets.filter(([what]) => !what.startsWith('api'));
    seen['api'] = await reach(kubectl, 'deployment/vault-probatio', others);
    return seen;
  };
  // A policy holds a moment after its pod is there.
  let seen = await see();
  await until(async () => JSON.stringify((seen = await see())) === JSON.stringify(expected), {
    what: 'the policies',
    timeoutMs: 30_000,
  }).catch(() => undefined);
  t.deepEqual(seen, expected);
});

test('a release works behind its policies', async (t) => {
  t.timeout(300_000);
  await t.notThrowsAsync(t.context.vault.helm('test', 'vault'));
});

type Target = readonly [what: string, host: string, port: number];

async function findTargets(kubectl: Kubectl): Promise<readonly Target[]> {
  const [api] = await list(kubectl, 'pods', 'app.kubernetes.io/component=api');
  const address = async (name: string) =>
    kubectl('get', 'pod', name, '--output=jsonpath={.status.podIP}');
  const [postgres, stranger] = [await address('postgres'), await address('stranger')];
  return [
    ...[8080, 8081, 9090, 9091].map(
      (port) => [`api ${port}`, api?.['status'].podIP, port] as const,
    ),
    ['postgres 5432', postgres, 5432],
    ['stranger 9999', stranger, 9999],
  ];
}

/** Returns the names of the targets to which a pod can connect. */
async function reach(kubectl: Kubectl, pod: string, targets: readonly Target[]): Promise<string[]> {
  const program = `
    const { connect } = require('node:net');
    const attempt = ([what, host, port]) => new Promise((resolve) => {
      const socket = connect({ host, port, timeout: 1500 });
      const end = (result) => { socket.destroy(); resolve(result); };
      socket.on('connect', () => end(what)).on('error', () => end()).on('timeout', () => end());
    });
    Promise.all(JSON.parse(process.argv[1]).map(attempt)).then((results) =>
      console.log(JSON.stringify(results.filter(Boolean))));`;
  const command = ['--', 'node', '--eval', program, JSON.stringify(targets)];
  return JSON.parse(await kubectl('exec', pod, ...command)) as string[];
}

function probe(name: string, labels: Readonly<Record<string, string>>) {
  const program = `
    process.on('SIGTERM', process.exit);
    require('node:net').createServer((socket) => socket.end()).listen(9999);`;
  const container = {
    name,
    image: 'probatio-lab/backends:lab',
    command: ['node', '--eval', program],
    readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1 },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { ...labels, probe: 'true' } },
    spec: confinedPod({ user: 10_003, container, volumes: [] }),
  };
}
