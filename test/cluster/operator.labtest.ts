import { randomUUID } from 'node:crypto';
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { projectFile } from '../../app/dev/files/project.ts';
import { until } from '../../app/dev/processes/until.ts';
import { defaultRetry } from '../../client/http/retry.ts';
import { listOperatorMetrics } from '../../k8s/operating/metrics.ts';
import { createAccount, logIn } from '../faults/vault/user.ts';
import { createClusterVault, type ClusterVault } from '../support/cluster/cluster-vault.ts';
import { killPods } from '../support/cluster/kill.ts';
import { apply, list, type ClusterObject } from '../support/cluster/kubectl.ts';
import { temporaryDirectory } from '../support/processes/processes.ts';
import { rounds, seed, seededRandom } from '../support/runs/rounds.ts';
import { assertKeysGoOn } from './checks.ts';
import { failuresOf, startClusterLoad, untilMoreSucceed } from './loads.ts';
import {
  askForRotation,
  keysOf,
  purposes,
  readStatus,
  resource,
  shortPublication,
  untilAnswered,
  type Purpose,
} from './signing-keys.ts';

const test = anyTest.serial as TestFn<{ vault: ClusterVault }>;
const retry = { ...defaultRetry, attempts: 1 };
const operatorPods = 'app.kubernetes.io/component=operator';
const values = ['replicaCount=2', 'operator.enabled=true', shortPublication];
const rotationMs = 180_000;

test.before(async (t) => {
  t.timeout(600_000);
  const vault = await createClusterVault();
  t.context = { vault };
  await vault.install(values);
  await apply(vault.namespace, [
    ...purposes.map((purpose) => resource('SigningKey', purpose, { purpose, rotateEvery: '720h' })),
    resource('VaultMaintenance', 'vault', { retryDeadLetters: { everyMinutes: 5 } }),
  ]);
});
test.after.always((t) => t.context.vault?.[Symbol.asyncDispose]());

test('the status of both resources reads like a page', async (t) => {
  t.timeout(rotationMs);
  const { vault } = t.context;
  for (const purpose of purposes) await untilIdle(vault, purpose);
  const printed = await until(
    async () => {
      const page = await vault.kubectl('get', 'vaultmaintenances', '--output=wide');
      return /^vault .*\bTrue\b/m.test(page) || /^vault .*\bFalse\b/m.test(page) ? page : undefined;
    },
    { what: 'a status of the maintenance', timeoutMs: 60_000, intervalMs: 500 },
  );
  t.log(printed);
  const keys = await vault.kubectl('get', 'signingkeys', '--output=wide');
  t.log(keys);
  for (const purpose of purposes) {
    t.regex(keys, new RegExp(`^${purpose} +${purpose} +1 +True +Idle .*[0-9a-f]{32}`, 'm'));
  }
});

test('a scrape of the release has the operator, of which one pod leads', async (t) => {
  const { kubectl } = t.context.vault;
  const slices = await list(kubectl, 'endpointslices', 'app.kubernetes.io/component=metrics');
  const scraped = slices.flatMap(({ ports, endpoints }) =>
    (ports as ClusterObject[])
      .filter(({ name }) => name === 'metrics')
      .flatMap(({ port }) =>
        (endpoints as ClusterObject[]).map(({ addresses }) => `http://${addresses[0]}:${port}`),
      ),
  );
  const pages = await Promise.all(
    scraped.map(async (url) => (await fetch(`${url}/metrics`)).text()),
  );
  const leads = pages.flatMap((page) => /^operator_leader (\d)$/m.exec(page)?.[1] ?? []);
  t.deepEqual(leads.toSorted(), ['0', '1']);
  for (const { name } of listOperatorMetrics()) {
    t.is(pages.filter((page) => page.includes(`# TYPE ${name} `)).length, 2, name);
  }
});

test('both keys are rotated under load, and no request fails', async (t) => {
  t.timeout(rotationMs * 3);
  t.log(`SEED=${seed}`);
  const { vault } = t.context;
  const random = seededRandom(seed);
  const user = await logIn(vault, await createAccount(vault), { retry });
  const load = startClusterLoad(vault, user, random);
  const before = await keysOf(vault);
  try {
    const asked = randomUUID();
    for (const purpose of purposes) await askForRotation(vault, purpose, asked);
    for (const purpose of purposes)
      await untilAnswered(vault, purpose, { text: asked, timeoutMs: rotationMs });
    for (const purpose of purposes) await untilIdle(vault, purpose);
    await untilMoreSucceed(load);
  } finally {
    await load.stop();
  }
  t.deepEqual(failuresOf(load), []);
  const after = await keysOf(vault);
  for (const purpose of purposes) {
    const spare = before.find((key) => key.purpose === purpose && key.state === 'CREATED');
    const active = after.find((key) => key.purpose === purpose && key.state === 'ACTIVE');
    t.is(active?.keyId, spare?.keyId, `the published successor signs (${purpose})`);
    t.is(active?.generation, 2);
    t.is(after.filter((key) => key.purpose === purpose).length, 3);
  }
  await assertKeysGoOn(t, vault, random);
  for (const purpose of purposes) {
    await untilEvents(vault, purpose, 'CreatingKey', 'Idle', 'Rotated', 'CreatingKey', 'Idle');
  }
});

test('an operator that is killed anywhere ends in the same keys', async (t) => {
  t.timeout(60_000 + rounds * rotationMs);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const { vault } = t.context;
  const random = seededRandom(seed);
  for (const purpose of purposes) await untilIdle(vault, purpose);
  const before = await keysOf(vault);
  for (let round = 1; round <= rounds; round += 1) {
    const asked = randomUUID();
    for (const purpose of purposes) await askForRotation(vault, purpose, asked);
    await delay(random() * 20_000);
    await killPods(vault.kubectl, operatorPods);
    for (const purpose of purposes) {
      await untilAnswered(vault, purpose, { text: asked, timeoutMs: rotationMs });
      await untilIdle(vault, purpose);
    }
    const after = await keysOf(vault);
    t.is(after.length, before.length + 2 * round, `round ${round}`);
    for (const purpose of purposes) {
      const generations = after
        .filter((key) => key.purpose === purpose)
        .map(({ generation }) => generation);
      t.is(new Set(generations).size, generations.length);
      t.is(after.filter((key) => key.purpose === purpose && key.state === 'ACTIVE').length, 1);
    }
  }
});

test('definitions that a release changes keep their resources', async (t) => {
  t.timeout(400_000);
  const { vault } = t.context;
  const query = '--output=jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}';
  const columns = () => vault.kubectl('get', 'crd', 'signingkeys.probatio.dev', query);
  const uids = async () => {
    const resources = await list(vault.kubectl, 'signingkeys,vaultmaintenances');
    return resources.map(({ metadata }) => metadata.uid);
  };
  const [before, kept] = [await columns(), await uids()];
  const chart = join(await temporaryDirectory(t), 'probatio');
  await cp(projectFile('charts/probatio'), chart, { recursive: true });
  const file = join(chart, 'templates/crds/signingkeys.yaml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('- name: Message\n', '- name: Explanation\n'));
  await vault.install(values, { chart });
  t.is(await columns(), before.replace('Message', 'Explanation'));
  await vault.install(values);
  t.is(await columns(), before);
  t.deepEqual(await uids(), kept);
});

test('the resources outlive a release, and the next one goes on with them', async (t) => {
  t.timeout(400_000);
  const { vault } = t.context;
  const before = await readStatus(vault, 'audit');
  await vault.helm('uninstall', 'vault', '--wait');
  t.deepEqual(
    (await list(vault.kubectl, 'signingkeys')).map(({ metadata }) => metadata.name),
    [...purposes],
  );
  await vault.install(values);
  await untilIdle(vault, 'audit');
  t.is((await readStatus(vault, 'audit'))?.keyId, before?.keyId);
  t.is((await keysOf(vault)).filter(({ state }) => state === 'ACTIVE').length, purposes.length);
});

test('a namespace that is deleted in the middle of a rotation goes', async (t) => {
  t.timeout(240_000);
  const { vault } = t.context;
  const { namespace, kubectl } = vault;
  // The successor that the second rotation needs is made after the first one.
  const asked = randomUUID();
  await askForRotation(vault, 'audit', asked);
  await untilAnswered(vault, 'audit', { text: asked, timeoutMs: rotationMs });
  await askForRotation(vault, 'audit', randomUUID());
  await until(async () => (await rotatingReason(vault, 'audit')) === 'Publishing', {
    what: 'the publication of a successor',
    timeoutMs: rotationMs,
    intervalMs: 250,
  });
  await t.notThrowsAsync(kubectl('delete', 'namespace', namespace, '--timeout=120s'));
});

async function rotatingReason(vault: ClusterVault, purpose: Purpose) {
  const status = await readStatus(vault, purpose);
  return status?.conditions.find(({ type }) => type === 'Rotating')?.reason;
}

/** Waits until the key has its published successor, and nothing is left to do. */
async function untilIdle(vault: ClusterVault, purpose: Purpose): Promise<void> {
  const isIdle = async () => {
    const hasSpare = (await readStatus(vault, purpose))?.spareKeyId !== undefined;
    return hasSpare && (await rotatingReason(vault, purpose)) === 'Idle';
  };
  const what = `a successor of ${purpose}`;
  await until(isIdle, { what, timeoutMs: rotationMs, intervalMs: 500 });
}

/** Waits until the events of a key have these reasons, in this order. */
async function untilEvents(
  { kubectl }: ClusterVault,
  purpose: Purpose,
  ...reasons: readonly string[]
): Promise<void> {
  const haveAll = async () => {
    const events = (await list(kubectl, 'events'))
      .filter(({ involvedObject: { kind, name } }) => kind === 'SigningKey' && name === purpose)
      .toSorted((a, b) => a.metadata.resourceVersion - b.metadata.resourceVersion);
    let found = 0;
    for (const { reason } of events) if (reason === reasons[found]) found += 1;
    return found === reasons.length;
  };
  const what = `the events ${reasons.join(', ')} of ${purpose}`;
  await until(haveAll, { what, timeoutMs: 30_000, intervalMs: 500 });
}
