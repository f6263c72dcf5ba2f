import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CoreV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import test from 'ava';
import { pino } from 'pino';
import { until } from '../../../app/dev/processes/until.ts';
import { connect } from '../../../k8s/cluster/connection.ts';
import { createResources } from '../../../k8s/cluster/resources.ts';
import { operate } from '../../../k8s/operate.ts';
import { startTcpProxy } from '../../support/network/tcp-proxy.ts';
import { publishSeconds } from '../support/simulated-vault.ts';
import { namespace, startApiServer, type ApiServer } from './api-server.ts';
import { serveVault } from './served-vault.ts';
import { createVaultPod } from './vault-pod.ts';

const place = { group: 'probatio.dev', version: 'v1alpha1', namespace };
let server: ApiServer;
let served: Awaited<ReturnType<typeof serveVault>>;
let directory: string;

test.before(async (t) => {
  t.timeout(600_000);
  server = await startApiServer();
  served = await serveVault({ one: 'the-key' });
  directory = await mkdtemp(join(tmpdir(), 'probatio-operator-'));
  await writeFile(join(directory, 'key'), 'the-key\n');
  await createVaultPod(server.admin);
});
test.after.always(async () => {
  served?.close();
  await server?.stop();
  await rm(directory, { recursive: true });
});

/** Starts an operator in this process. Returns the function that ends it. */
function startOperator(identity: string, kubeConfig = server.operator) {
  const stopping = new AbortController();
  const done = operate({
    settings: {
      namespace,
      identity,
      leaseName: 'vault-operator',
      selector: 'app.kubernetes.io/instance=vault',
      internalPort: served.port,
      keyCreation: 'app',
      probes: { host: '127.0.0.1', port: 0 },
      keyFile: join(directory, 'key'),
      logLevel: 'info',
      unknown: [],
    },
    kubeConfig,
    log: pino({ enabled: false }),
    stop: stopping.signal,
  });
  return async () => {
    stopping.abort();
    await done;
  };
}

const resources = () =>
  createResources({ kubeConfig: server.admin, namespace, onInvalid: () => undefined });
const find = async () => (await resources().listSigningKeys())[0];
const untilStatus = (what: string, isTrue: (found: Awaited<ReturnType<typeof find>>) => boolean) =>
  until(async () => isTrue(await find()), { what, timeoutMs: 120_000 });
const reasonIs = (type: string, reason: string) => (found: Awaited<ReturnType<typeof find>>) =>
  found?.status?.conditions.find((one) => one.type === type)?.reason === reason;

/** Waits until the keys have an event of each reason. */
async function untilEvents(...reasons: readonly string[]): Promise<void> {
  const api = connect(server.admin, CoreV1Api);
  const haveAll = async () => {
    const { items } = await api.listNamespacedEvent({ namespace });
    const ofKeys = items.filter(({ involvedObject }) => involvedObject.kind === 'SigningKey');
    return reasons.every((one) => ofKeys.some(({ reason }) => reason === one));
  };
  await until(haveAll, { what: `the events ${reasons.join(', ')}`, timeoutMs: 60_000 });
}

test.serial('two operators rotate a key once, over a restart of the API server', async (t) => {
  t.timeout(600_000);
  const api = connect(server.admin, CustomObjectsApi);
  const ends = [startOperator('one'), startOperator('two')];
  t.teardown(async () => void (await Promise.allSettled(ends.map((end) => end()))));
  const body = {
    apiVersion: 'probatio.dev/v1alpha1',
    kind: 'SigningKey',
    metadata: { name: 'audit', annotations: { 'probatio.dev/rotate-now': 'a' } },
    spec: { purpose: 'audit', keepSpare: false },
  };
  await api.createNamespacedCustomObject({ ...place, plural: 'signingkeys', body });
  await untilStatus('a key without a record', reasonIs('Rotating', 'RecordUnsigned'));
  t.is(served.simulated.keys.length, 2);
  // An event is written after the status, and only once: a restart between the two would lose it.
  await untilEvents('RecordUnsigned');

  await server.restart();
  served.simulated.seal();
  await untilStatus('the publication', reasonIs('Rotating', 'Publishing'));
  const asked = () => served.simulated.requests.filter((one) => one === 'activate').length;
  t.is(asked(), 1);
  const { notBefore } = (await find())?.status ?? {};
  const left = Date.parse(notBefore ?? '') - Date.now();
  t.true(left > 0 && left <= 1_000 * publishSeconds, String(left));

  // The time of the publication is over.
  served.simulated.publish();
  const spent = await find();
  if (spent?.status === undefined) throw new Error('there should be a status');
  await until(
    async () => {
      const { status, ...found } = (await find()) ?? spent;
      if (status === undefined) return false;
      return resources().applyStatus(found, { ...status, notBefore: new Date().toISOString() });
    },
    { what: 'an end of the wait', timeoutMs: 60_000 },
  );
  await untilStatus('the rotation', (found) => found?.status?.answeredRequest === 'a');
  t.is(served.simulated.rotations, 1);
  t.is(served.simulated.keys.length, 2);
  t.deepEqual(served.simulated.violations, []);
  await untilStatus('rest', reasonIs('Rotating', 'Idle'));
  await untilEvents('CreatingKey', 'RecordUnsigned', 'Publishing', 'Rotated', 'Idle');
});

test.serial('the maintenance of the vault is shown', async (t) => {
  const end = startOperator('three');
  t.teardown(end);
  const api = connect(server.admin, CustomObjectsApi);
  const body = {
    apiVersion: 'probatio.dev/v1alpha1',
    kind: 'VaultMaintenance',
    metadata: { name: 'vault' },
    spec: {},
  };
  await api.createNamespacedCustomObject({ ...place, plural: 'vaultmaintenances', body });
  const found = await until(async () => (await resources().listMaintenances())[0]?.status, {
    what: 'the status',
    timeoutMs: 120_000,
  });
  t.is(found.backlog, 3);
  t.deepEqual(
    found.conditions.map(({ type, reason }) => `${type} ${reason}`),
    [
      'Healthy AllWell',
      'BacklogGrowing BacklogLow',
      'KeyOverdue RotationsInTime',
      'VerificationFailed NeverVerified',
    ],
  );
});

test.serial('what changes while nothing is heard, and etcd is compacted, is noticed', async (t) => {
  t.timeout(300_000);
  await using proxy = await startTcpProxy(server.url);
  const end = startOperator('four', server.operatorBehind(proxy));
  const api = connect(server.admin, CustomObjectsApi);
  t.teardown(end);
  const change = async (rotateEvery: string) => {
    const found = await api.patchNamespacedCustomObject({
      ...place,
      plural: 'signingkeys',
      name: 'audit',
      body: [{ op: 'add', path: '/spec/rotateEvery', value: rotateEvery }],
    });
    return (found as { readonly metadata: { readonly generation: number } }).metadata.generation;
  };
  const untilNoticed = (generation: number) =>
    untilStatus(`generation ${generation}`, (found) =>
      (found?.status?.conditions ?? []).some((one) => one.observedGeneration === generation),
    );
  await untilNoticed(await change('800h'));
  proxy.freeze();
  const generation = await change('900h');
  await server.compact();
  await server.restart();
  const since = Date.now();
  proxy.thaw();
  await untilNoticed(generation);
  t.log(`noticed after ${Date.now() - since} ms`);
  t.pass();
});
