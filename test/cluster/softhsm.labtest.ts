import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import anyTest, { type TestFn } from 'ava';
import { until } from '../../app/dev/processes/until.ts';
import { defaultRetry } from '../../client/http/retry.ts';
import { createAccount, logIn } from '../faults/vault/user.ts';
import { addressOf } from '../support/cluster/backends.ts';
import {
  createClusterVault,
  fullname,
  type ClusterVault,
} from '../support/cluster/cluster-vault.ts';
import { killPods } from '../support/cluster/kill.ts';
import { apply, list } from '../support/cluster/kubectl.ts';
import { rounds, seed, seededRandom } from '../support/runs/rounds.ts';
import { untilReady } from '../support/vault/vault.ts';
import { assertDemoRuns, assertKeysGoOn, assertWhole } from './checks.ts';
import { failuresOf, startClusterLoad, untilMoreSucceed } from './loads.ts';
import {
  askForRotation,
  keysOf,
  purposes,
  resource,
  shortPublication,
  untilAnswered,
  type Purpose,
} from './signing-keys.ts';

const test = anyTest.serial as TestFn<{ vault: ClusterVault }>;
const retry = { ...defaultRetry, attempts: 1 };
const values = ['replicaCount=2', shortPublication];
const restartMs = 400_000;
const secretNames = ['token', 'api-keys', 'internal-api'].map((name) => `${fullname}-${name}`);

test.before(async (t) => {
  t.timeout(600_000);
  const vault = await createClusterVault({ tokenMode: 'softhsm' });
  t.context = { vault };
  t.log(await vault.install(values));
});
test.after.always((t) => t.context.vault?.[Symbol.asyncDispose]());

test('the demo runs with a token that the chart made', async (t) => {
  t.timeout(120_000);
  const { vault } = t.context;
  await assertDemoRuns(t, vault);
  t.deepEqual(await labelsOf(vault), ['audit-1', 'token-1']);
});

test('another release of the same values changes no Secret', async (t) => {
  t.timeout(restartMs);
  const { vault } = t.context;
  const before = await secretsOf(vault);
  t.is(before.length, secretNames.length);
  await vault.install(values);
  t.deepEqual(await secretsOf(vault), before);
  const hooks = await list(vault.kubectl, 'roles,serviceaccounts,jobs');
  t.false(hooks.some(({ metadata }) => String(metadata.name).includes('bootstrap')));
});

test('the app makes no key in the read-only token, and goes on', async (t) => {
  t.timeout(120_000);
  const { vault } = t.context;
  const response = await askInternally(vault, '', { purpose: 'audit' });
  t.is(response.status, 503);
  t.like(await response.json(), { code: 'signer_unavailable' });
  await t.notThrowsAsync(logIn(vault, await createAccount(vault)));
  t.deepEqual(await labelsOf(vault), ['audit-1', 'token-1']);
});

test('a key is rotated by a Job under load, and no request fails', async (t) => {
  t.timeout(2 * restartMs);
  t.log(`SEED=${seed}`);
  const { vault } = t.context;
  const user = await logIn(vault, await createAccount(vault), { retry });
  const load = startClusterLoad(vault, user, seededRandom(seed));
  try {
    await untilMoreSucceed(load);
    await createJob(vault, 'audit', 'rotate-audit');
    await untilComplete(vault, 'rotate-audit');
    t.deepEqual(failuresOf(load), [], 'a new key');
    const next = (await keysOf(vault)).find(({ state }) => state === 'CREATED');
    t.like(next, { purpose: 'audit', generation: 2 });
    await activate(vault, next?.keyId ?? '');
    await untilMoreSucceed(load);
  } finally {
    await load.stop();
  }
  t.deepEqual(failuresOf(load), []);
  t.log(JSON.stringify(load.report.succeeded));
  await assertWhole(t, vault);
});

test('pods that are deleted all at once come back with the keys', async (t) => {
  t.timeout(restartMs);
  const { vault } = t.context;
  const before = await keysOf(vault);
  const selector = 'app.kubernetes.io/component=api';
  await killPods(vault.kubectl, selector);
  // The status of the Deployment may still be that of the pods that were killed.
  await until(async () => (await list(vault.kubectl, 'pods', selector)).length === 2, {
    what: 'new pods',
    timeoutMs: 60_000,
    intervalMs: 500,
  });
  const pods = ['pods', `--selector=${selector}`];
  await vault.kubectl('wait', '--for=condition=Ready', ...pods, '--timeout=300s');
  await untilReady(vault.baseUrl);
  t.deepEqual(await keysOf(vault), before);
  await t.notThrowsAsync(logIn(vault, await createAccount(vault)));
  await assertWhole(t, vault);
});

test('the operator rotates both keys by Jobs under load, though pods are killed', async (t) => {
  t.timeout(restartMs + rounds * 2 * restartMs);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const { vault } = t.context;
  const random = seededRandom(seed);
  const before = await labelsOf(vault);
  await vault.install([...values, 'operator.enabled=true']);
  await apply(
    vault.namespace,
    purposes.map((purpose) => resource('SigningKey', purpose, { purpose, keepSpare: false })),
  );
  const user = await logIn(vault, await createAccount(vault), { retry });
  const load = startClusterLoad(vault, user, random);
  try {
    await untilMoreSucceed(load);
    for (let round = 1; round <= rounds; round += 1) {
      for (const purpose of purposes) {
        const generation =
          1 + (await labelsOf(vault)).filter((one) => one.startsWith(purpose)).length;
        const asked = randomUUID();
        await askForRotation(vault, purpose, asked);
        const job = `${fullname}-keygen-${purpose}-${generation}-0`;
        await untilExists(vault, job);
        await delay(random() * 15_000);
        await killPods(vault.kubectl, `batch.kubernetes.io/job-name=${job}`);
        await killPods(vault.kubectl, 'app.kubernetes.io/component=operator');
        await untilAnswered(vault, purpose, { text: asked, timeoutMs: 2 * restartMs });
        t.deepEqual(failuresOf(load), [], `a new ${purpose} key`);
        const active = (await keysOf(vault)).filter(({ state }) => state === 'ACTIVE');
        t.is(active.find((key) => key.purpose === purpose)?.generation, generation);
      }
    }
    await untilMoreSucceed(load);
  } finally {
    await load.stop();
  }
  t.deepEqual(failuresOf(load), []);
  t.log(JSON.stringify(load.report.succeeded));
  t.is((await labelsOf(vault)).length, before.length + rounds * purposes.length);
  await assertKeysGoOn(t, vault, random);
});

test('an uninstalled release leaves the token, and finds it again', async (t) => {
  t.timeout(2 * restartMs);
  const { vault } = t.context;
  const account = await createAccount(vault);
  const [secrets, keys] = [await secretsOf(vault), await keysOf(vault)];
  await vault.helm('uninstall', 'vault', '--wait');
  t.deepEqual(await secretsOf(vault), secrets);
  await vault.install(values);
  t.deepEqual(await keysOf(vault), keys);
  await t.notThrowsAsync(logIn(vault, account));
  await assertWhole(t, vault);
});

/** Lists the registered keys by purpose and generation. */
async function labelsOf(vault: ClusterVault): Promise<readonly string[]> {
  const keys = await keysOf(vault);
  return keys.map(({ purpose, generation }) => `${purpose}-${generation}`).toSorted();
}

/** Lists the Secrets that the chart made, with the version of each. */
async function secretsOf({ kubectl }: ClusterVault): Promise<readonly string[]> {
  return (await list(kubectl, 'secrets'))
    .filter(({ metadata }) => secretNames.includes(metadata.name))
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`);
}

async function createJob({ kubectl }: ClusterVault, purpose: Purpose, name: string) {
  await kubectl('create', 'job', `--from=cronjob/${fullname}-keygen-${purpose}`, name);
}

/** Waits until a Job has succeeded. Throws with the log of its pod if it fails. */
async function untilComplete({ kubectl }: ClusterVault, job: string): Promise<void> {
  const waited = kubectl('wait', '--for=condition=Complete', `job/${job}`, '--timeout=300s');
  await waited.catch(async (cause: unknown) => {
    throw new Error(await kubectl('logs', `job/${job}`), { cause });
  });
}

async function untilExists({ kubectl }: ClusterVault, job: string): Promise<void> {
  const names = async () => (await list(kubectl, 'jobs')).map(({ metadata }) => metadata.name);
  const what = `the Job ${job}`;
  await until(async () => (await names()).includes(job), {
    what,
    timeoutMs: 120_000,
    intervalMs: 500,
  });
}

/** Sends a POST below the internal route of signing keys, with the key that the chart made. */
async function askInternally({ kubectl }: ClusterVault, path: string, body?: object) {
  const host = await addressOf(kubectl, `${fullname}-internal`, 8081);
  const query = '--output=jsonpath={.data.maintenance}';
  const encoded = await kubectl('get', 'secret', `${fullname}-api-keys`, query);
  const key = Buffer.from(encoded, 'base64').toString();
  return fetch(`http://${host}:8081/v1/internal/keys${path}`, {
    method: 'POST',
    headers: {
      'X-Internal-Api-Key': key,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Activates a key once it was published for long enough. */
async function activate(vault: ClusterVault, keyId: string): Promise<void> {
  const isActive = async () => (await askInternally(vault, `/${keyId}/activate`)).ok;
  const what = `the activation of ${keyId}`;
  await until(isActive, { what, timeoutMs: 90_000, intervalMs: 1_000 });
}
