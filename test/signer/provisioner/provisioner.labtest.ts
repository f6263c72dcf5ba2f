import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  AppsV1Api,
  AuthorizationV1Api,
  CoreV1Api,
  KubeConfig,
  PatchStrategy,
  setHeaderOptions,
  type V1Secret,
} from '@kubernetes/client-node';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import test from 'ava';
import { until } from '../../../app/dev/processes/until.ts';
import { ApiKey, hashApiKey } from '../../../app/internal-api/api-key-format.ts';
import { connect } from '../../../k8s/cluster/connection.ts';
import { tokenAnnotation } from '../../../signer/provisioner/deployments.ts';
import { namespace, startApiServer, type ApiServer } from '../../operator/lab/api-server.ts';
import { rounds, seed, seededRandom } from '../../support/runs/rounds.ts';
import {
  createAccount,
  deployment,
  hashesSecret,
  keysSecret,
  labelsIn,
  runProvisioner,
  tokenSecret,
  type Account,
} from './provisioner.ts';

let server: ApiServer;
let core: CoreV1Api;
const directories = {} as Record<Account, string>;

test.before(async (t) => {
  t.timeout(600_000);
  server = await startApiServer();
  core = connect(server.admin, CoreV1Api);
  for (const account of ['bootstrap', 'keygen'] as const)
    directories[account] = await createAccount(server, account);
});
test.after.always(async () => {
  await server?.stop();
  for (const directory of Object.values(directories)) await rm(directory, { recursive: true });
});

const internalKeys = {
  PROVISIONER_KEYS_SECRET: keysSecret,
  PROVISIONER_HASHES_SECRET: hashesSecret,
};
const bootstrap = () =>
  runProvisioner({
    server,
    accountDirectory: directories.bootstrap,
    args: ['bootstrap'],
    settings: internalKeys,
  });
const keygen = (purpose: string, settings: Readonly<Record<string, string>>, kill?: AbortSignal) =>
  runProvisioner({
    server,
    accountDirectory: directories.keygen,
    args: ['keygen', purpose],
    settings: { PROVISIONER_JOB_UID: randomUUID(), ...settings },
    ...(kill === undefined ? {} : { kill }),
  });

const read = (name: string) => core.readNamespacedSecret({ namespace, name });
const entry = ({ data }: V1Secret, name: string) => Buffer.from(data?.[name] ?? '', 'base64');

/** Lists the labels of the signing keys that the Secret holds. */
async function held(): Promise<readonly string[]> {
  const secret = await read(tokenSecret);
  return labelsIn(entry(secret, 'tokens.tgz'), entry(secret, 'pin').toString());
}

test.serial(
  'bootstraps at the same time make one token, and keys that match their hashes',
  async (t) => {
    t.timeout(120_000);
    const runs = await Promise.all([bootstrap(), bootstrap(), bootstrap()]);
    for (const { code, log } of runs) t.is(code, 0, log);
    t.deepEqual(await held(), ['audit-1', 'token-1']);
    const keys = await read(keysSecret);
    const hashes = ApiKey.array().parse(
      JSON.parse(entry(await read(hashesSecret), 'keys.json').toString()),
    );
    t.deepEqual(
      hashes.map(({ name, sha256, admin }) => [name, sha256, admin]),
      ['maintenance', 'operator'].map((name) => [
        name,
        hashApiKey(entry(keys, name).toString()),
        true,
      ]),
    );
    const token = await read(tokenSecret);
    const secrets = ['pin', 'so-pin'].map((name) => entry(token, name).toString());
    secrets.push(...['maintenance', 'operator'].map((name) => entry(keys, name).toString()));
    for (const secret of secrets) {
      t.true(secret.length >= 32);
      for (const { log } of runs) t.false(log.includes(secret));
    }
  },
);

test.serial('a bootstrap changes nothing that exists, and makes what is missing', async (t) => {
  t.timeout(120_000);
  const names = [tokenSecret, keysSecret, hashesSecret];
  const before = await Promise.all(names.map(read));
  const first = await bootstrap();
  t.is(first.code, 0, first.log);
  t.deepEqual(await Promise.all(names.map(read)), before);
  await core.deleteNamespacedSecret({ namespace, name: hashesSecret });
  const second = await bootstrap();
  t.is(second.code, 0, second.log);
  t.deepEqual((await read(hashesSecret)).data, before[2]?.data);
});

test.serial('a Job makes one key, however often its pod is started', async (t) => {
  t.timeout(120_000);
  const job = { PROVISIONER_JOB_UID: randomUUID() };
  for (let start = 0; start < 2; start += 1) {
    const { code, log } = await keygen('audit', job);
    t.is(code, 0, log);
    t.deepEqual(await held(), ['audit-1', 'audit-2', 'token-1']);
  }
});

test.serial('Jobs at the same time each add their key', async (t) => {
  t.timeout(120_000);
  const purposes = ['audit', 'token', 'token'] as const;
  const runs = await Promise.all(purposes.map((purpose) => keygen(purpose, {})));
  for (const { code, log } of runs) t.is(code, 0, log);
  t.deepEqual(await held(), ['audit-1', 'audit-2', 'audit-3', 'token-1', 'token-2', 'token-3']);
});

test.serial('a Job with a generation makes exactly that one, once', async (t) => {
  t.timeout(120_000);
  for (let start = 0; start < 2; start += 1) {
    const { code, log } = await keygen('token', { PROVISIONER_GENERATION: '4' });
    t.is(code, 0, log);
    t.true((await held()).includes('token-4'));
  }
  const { code, log } = await keygen('token', { PROVISIONER_GENERATION: '2' });
  t.is(code, 0, log);
  t.is((await held()).length, 7);
  // A generation that the token has lost is never made again.
  const jump = await keygen('token', { PROVISIONER_GENERATION: '6' });
  t.is(jump.code, 0, jump.log);
  const late = await keygen('token', { PROVISIONER_GENERATION: '5' });
  t.is(late.code, 1);
  t.regex(late.log, /has keys after token-5/);
  t.is((await held()).length, 8);
});

test.serial('a Job that is killed anywhere and started again makes one key', async (t) => {
  t.timeout(60_000 + rounds * 60_000);
  t.log(`SEED=${seed} ROUNDS=${rounds}`);
  const random = seededRandom(seed);
  const before = await held();
  for (let round = 1; round <= rounds; round += 1) {
    const job = { PROVISIONER_JOB_UID: randomUUID() };
    const killing = new AbortController();
    const killed = keygen('audit', job, killing.signal);
    await delay(random() * 2_500);
    killing.abort();
    await killed;
    const { code, log } = await keygen('audit', job);
    t.is(code, 0, log);
    t.is((await held()).length, before.length + round);
  }
});

test.serial('the pods are replaced once for each token, and the Job waits for them', async (t) => {
  t.timeout(180_000);
  const apps = connect(server.admin, AppsV1Api);
  const labels = { app: deployment };
  const spec = { containers: [{ name: 'app', image: 'none' }] };
  await apps.createNamespacedDeployment({
    namespace,
    body: {
      metadata: { name: deployment },
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec },
      },
    },
  });
  const place = { namespace, name: deployment };
  const job = { PROVISIONER_JOB_UID: randomUUID(), PROVISIONER_DEPLOYMENTS: deployment };
  let isOver = false;
  const run = keygen('audit', job).finally(() => {
    isOver = true;
  });
  const restarted = await until(
    async () => {
      const found = await apps.readNamespacedDeployment(place);
      const annotation = found.spec?.template.metadata?.annotations?.[tokenAnnotation];
      return annotation === undefined ? undefined : found;
    },
    { what: 'a restart', timeoutMs: 60_000, intervalMs: 100 },
  );
  const report = (more: object) =>
    apps.patchNamespacedDeploymentStatus(
      { ...place, body: { status: more } },
      setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    );
  const observedGeneration = restarted.metadata?.generation;
  const rolled = { observedGeneration, replicas: 3, updatedReplicas: 2 };
  await report({ ...rolled, readyReplicas: 3, availableReplicas: 3 });
  await delay(5_000);
  t.false(isOver, 'a pod of before is left');
  await report({ ...rolled, replicas: 2, readyReplicas: 2, availableReplicas: 2 });
  const { code, log } = await run;
  t.is(code, 0, log);
  const again = await keygen('audit', job);
  t.is(again.code, 0, again.log);
  t.is((await apps.readNamespacedDeployment(place)).metadata?.generation, observedGeneration);
});

test.serial('what cannot be done is refused with a sentence, and changes nothing', async (t) => {
  t.timeout(120_000);
  const before = await read(tokenSecret);
  for (const [purpose, settings, wanted, sentence] of [
    ['mac', {}, 2, /give bootstrap, keygen audit or keygen token/],
    ['audit', { PROVISIONER_JOB_UID: '' }, 78, /PROVISIONER_JOB_UID: is not set/],
    ['audit', { PROVISIONER_GENERATION: 'next' }, 78, /PROVISIONER_GENERATION/],
    ['audit', { PROVISIONER_TOKEN_SECRET: 'other' }, 1, /403/],
    ['audit', { PROVISIONER_ACCOUNT_DIRECTORY: '/nowhere' }, 1, /ENOENT/],
  ] as const) {
    const { code, log } = await keygen(purpose, settings);
    t.regex(log, sentence);
    t.is(code, wanted, log);
  }
  t.deepEqual(await read(tokenSecret), before);
});

test.serial('the accounts of the Jobs may do what they need, and nothing else', async (t) => {
  for (const account of ['bootstrap', 'keygen'] as const) {
    const token = await readFile(join(directories[account], 'token'), 'utf8');
    const config = new KubeConfig();
    const url = `https://127.0.0.1:${server.address.port}`;
    config.loadFromClusterAndUser(
      { name: 'lab', server: url, skipTLSVerify: true },
      { name: account, token },
    );
    const authorization = connect(config, AuthorizationV1Api);
    const rights: string[] = [];
    for (const [group, resource, name] of [
      ['', 'secrets', tokenSecret],
      ['', 'secrets', keysSecret],
      ['', 'secrets', 'postgres'],
      ['', 'pods', deployment],
      ['apps', 'deployments', deployment],
      ['apps', 'deployments', 'other'],
    ] as const) {
      for (const verb of ['get', 'list', 'create', 'update', 'patch', 'delete']) {
        const resourceAttributes = { group, resource, name, verb, namespace };
        const body = { spec: { resourceAttributes } };
        const { status } = await authorization.createSelfSubjectAccessReview({ body });
        if (status?.allowed === true) rights.push(`${verb} ${resource}/${name}`);
      }
    }
    t.deepEqual(rights, [...expected[account]]);
  }
});

const expected: Readonly<Record<Account, readonly string[]>> = {
  bootstrap: [
    `get secrets/${tokenSecret}`,
    `create secrets/${tokenSecret}`,
    `get secrets/${keysSecret}`,
    `create secrets/${keysSecret}`,
    'create secrets/postgres',
  ],
  keygen: [
    `get secrets/${tokenSecret}`,
    `patch secrets/${tokenSecret}`,
    `get deployments/${deployment}`,
    `patch deployments/${deployment}`,
  ],
};
